"""Harbour dues for one stay, by the tariff beside this script."""

import argparse
import csv
import datetime
import math
from decimal import Decimal
from pathlib import Path

TARIFF = Path(__file__).parent.parent / "assets" / "tariff-2026.csv"
FREE_HOURS = 2


def season(day):
    """Summer dues hold from 1 April to 30 September."""
    return "summer" if 4 <= day.month <= 9 else "winter"


def rate(kind, when):
    with TARIFF.open(newline="", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            if (row["kind"], row["season"]) == (kind, when):
                return Decimal(row["euro_per_metre_and_day"])
    raise SystemExit(f"no tariff for {kind} in {when}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=Decimal, required=True, help="length over all, metres")
    parser.add_argument("--hours", type=float, required=True, help="from the last line fast to the first line off")
    parser.add_argument("--date", type=datetime.date.fromisoformat, required=True, help="day of arrival")
    parser.add_argument("--kind", choices=["cargo", "fishing", "yacht"], required=True)
    args = parser.parse_args()

    days = 0 if args.hours <= FREE_HOURS else math.ceil(args.hours / 24)
    euro = rate(args.kind, season(args.date))
    print(f"{args.length} m x {days} days x {euro} EUR = {args.length * days * euro:.2f} EUR")


if __name__ == "__main__":
    main()
