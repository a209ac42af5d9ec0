"""A shop's graph: who bought what, where customers live, what products are.

    python -m bench.shop FILE [--seed 0] [--together 0.85]

Customers have a home town and favourite categories, and buy from these, the popular products more
often, and each with the product that goes with it by a chance of ``--together``. A head, relation
and tail a line, about 20,000 facts with the defaults.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

CUSTOMERS, PRODUCTS, CATEGORIES, BRANDS, TOWNS = 600, 800, 24, 40, 50


def shop(seed: int = 0, together: float = 0.85) -> list[tuple[str, str, str]]:
    """Facts in the order in which they are drawn, none twice."""
    draw = np.random.default_rng(seed)
    category = draw.integers(CATEGORIES, size=PRODUCTS)
    brand = (category * 5 + draw.integers(5, size=PRODUCTS)) % BRANDS
    companion = np.arange(PRODUCTS) ^ 1
    popularity = 1 / np.arange(1, PRODUCTS + 1)[draw.permutation(PRODUCTS)] ** 0.7
    facts = {}
    for product in range(PRODUCTS):
        name = f"product {product}"
        facts[name, "in category", f"category {category[product]}"] = None
        facts[name, "made by", f"brand {brand[product]}"] = None
    for customer in range(CUSTOMERS):
        name = f"customer {customer}"
        town = int(draw.integers(TOWNS))
        facts[name, "lives in", f"town {town}"] = None
        favourites = (town + draw.integers(6, size=3)) % CATEGORIES
        taste = popularity * np.where(np.isin(category, favourites), 1.0, 0.02)
        count = 4 + draw.poisson(11)
        for product in draw.choice(PRODUCTS, size=count, replace=False, p=taste / taste.sum()):
            facts[name, "bought", f"product {product}"] = None
            if draw.random() < together:
                facts[name, "bought", f"product {companion[product]}"] = None
        for product in draw.choice(PRODUCTS, size=3, p=taste / taste.sum()):
            facts[name, "rated", f"product {product}"] = None
    return list(facts)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--together", type=float, default=0.85)
    options = parser.parse_args()
    facts = shop(options.seed, options.together)
    options.file.write_text("".join("\t".join(fact) + "\n" for fact in facts), encoding="utf-8")
    print(f"{len(facts):,} facts: {options.file}")


if __name__ == "__main__":
    main()
