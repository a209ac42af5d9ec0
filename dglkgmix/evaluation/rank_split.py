"""From a scorer and a split to its rank table."""

from __future__ import annotations

from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.ranking import BLOCK, rank
from dglkgmix.evaluation.scorer import Scorer
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.processes import ALONE, Processes


def rank_split(
    scorer: Scorer,
    kg: KnowledgeGraph,
    split: str,
    block: int | None = None,
    *,
    candidates: Candidates | None = None,
    processes: Processes = ALONE,
) -> RankTable:
    """The rank table of ``split`` under ``scorer``.

    Filtered as :meth:`~dglkgmix.kg.graph.KnowledgeGraph.filter_index` says, both directions.
    ``candidates`` None are the default of :meth:`~dglkgmix.evaluation.candidates.Candidates.of`.
    At most ``block`` scores are held at once; None is :data:`~dglkgmix.evaluation.ranking.BLOCK`.
    Of several ``processes`` each ranks a part, and all get the whole table.

    Raises:
        NumericError: a score is not finite.
        ConfigError: ``block`` is below 1.
    """
    queries = evaluation_queries(kg, split)
    held = BLOCK if block is None else block
    known, among = kg.filter_index(split), candidates or Candidates.of(kg)
    found = rank(scorer, queries, known, block=held, candidates=among, processes=processes)
    return RankTable.from_ranks(kg, queries, found, among.rule)
