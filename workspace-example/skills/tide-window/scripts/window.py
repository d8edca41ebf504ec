"""When the water over the sill is deep enough, by the rule of a cosine between two tides."""

import argparse
import math

MARGIN_M = 0.5


def minutes(text):
    hours, _, rest = text.partition(":")
    return int(hours) * 60 + int(rest)


def tide(text):
    time, _, height = text.partition("=")
    return minutes(time), float(height)


def height_at(minute, low, high):
    """Height of the tide between two turns."""
    (start, low_m), (end, high_m) = low, high
    share = (1 - math.cos(math.pi * (minute - start) / (end - start))) / 2
    return low_m + (high_m - low_m) * share


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--low", type=tide, required=True, help="low water, HH:MM=metres")
    parser.add_argument("--high", type=tide, required=True, help="high water after it, HH:MM=metres")
    parser.add_argument("--sill", type=float, required=True, help="depth of the sill at chart datum, metres")
    parser.add_argument("--draught", type=float, required=True, help="metres")
    args = parser.parse_args()

    need = args.draught + MARGIN_M - args.sill
    for minute in range(args.low[0], args.high[0] + 1):
        if height_at(minute, args.low, args.high) >= need:
            print(f"open from {minute // 60:02}:{minute % 60:02} until the fall passes {need:.1f} m again")
            return
    print(f"closed: at most {args.sill + args.high[1] - MARGIN_M:.1f} m of draught can pass at this high water")


if __name__ == "__main__":
    main()
