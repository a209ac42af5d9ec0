"""scikit-learn's own checks, where they apply to an estimator over names."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from dglkgmix.estimator import KGCompleter

_FLOATS = "fits on floats, and 1.0 and 1 would be two names; on names: "
_TAILS = "passes y beside three columns, of which the third is the tail; on names: "
_WIDE = "fits on more columns than a triple has; on names: "

# Checks that cannot hold for an estimator over names, and the test of ours that stands in.
EXEMPT = {
    "check_fit_score_takes_y": _TAILS + "two columns and y are three columns",
    "check_dont_overwrite_parameters": _TAILS + "fitted attributes",
    "check_sample_weights_list": _TAILS + "weights of one change nothing and others do",
    "check_pipeline_consistency": _TAILS + "within pipelines and searches",
    "check_estimators_pickle": _TAILS + "grid search, refit, pickle and a new process",
    "check_f_contiguous_array_estimator": _TAILS + "anything else is refused by place",
    "check_transformer_data_not_an_array": _TAILS + "transform gives vectors and frames",
    "check_transformer_general": _TAILS + "transform gives vectors and frames",
    "check_methods_sample_order_invariance": _TAILS + "scores are the model's",
    "check_methods_subset_invariance": _TAILS + "scores are the model's",
    "check_dict_unchanged": _TAILS + "rank and score follow each other",
    "check_fit2d_predict1d": _TAILS + "anything else is refused by place",
    "check_n_features_in_after_fitting": _WIDE + "frames keep their names",
    "check_estimators_dtypes": _WIDE + "integers come back as integers",
    "check_sample_weight_equivalence_on_dense_data": "a copy of a triple adds nothing to a set",
    "check_dtype_object": _WIDE + "anything else is refused by place",
    "check_positive_only_tag_during_fit": _FLOATS + "integers come back as integers",
    "check_sample_weights_not_overwritten": _FLOATS + "weights of one change nothing",
    "check_all_zero_sample_weights_error": _FLOATS + "weights of one change nothing and others do",
    "check_estimators_nan_inf": _FLOATS + "anything else is refused by place",
    "check_transformer_preserve_dtypes": _FLOATS + "vectors are float32 whatever names are",
    "check_fit2d_1sample": _FLOATS + "unfitted and wrong input",
    "check_array_api_input": "names are no array of numbers",
}

# Checks that scikit-learn has since 1.8.
NEWER = {"check_all_zero_sample_weights_error", "check_array_api_input"}

CHECKS = list(estimator_checks_generator(KGCompleter()))


def _name(check):
    return str(getattr(check, "func", check).__name__)


@pytest.mark.parametrize("check", [c for _, c in CHECKS if _name(c) not in EXEMPT], ids=_name)
@pytest.mark.filterwarnings("ignore")
def test_check_passes(check):
    check(KGCompleter())


def test_every_exemption_is_a_check_and_most_of_the_protocol_is_checked():
    names = {_name(check) for _, check in CHECKS}
    assert set(EXEMPT) - NEWER <= names
    assert len(names - set(EXEMPT)) >= 25
