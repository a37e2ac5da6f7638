"""Compare what the acts program knows with what vitrine recorded, both ways.

usage: compare.py TRUTH RECORD KIND[,KIND...]

TRUTH and RECORD hold one JSON object a line. Only the KINDs given (a trailing * stands for a family) are compared:
every truth has to have its record with every field right, and every record its truth. Prints what differs, exits 1.
"""
import base64
import json
import sys


def field(record, name):
    """The value of a dotted name; texts as bytes, exactly."""
    *parents, last = name.split(".")
    for parent in parents:
        record = record.get(parent, {})
    exact = record.get(last + "_b64")
    value = record.get(last)
    if isinstance(value, list):
        exact = exact or [None] * len(value)
        return [base64.b64decode(e) if e is not None else v.encode() for v, e in zip(value, exact)]
    if exact is not None:
        return base64.b64decode(exact)
    return value.encode() if isinstance(value, str) else value


def known(value):
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    if isinstance(value, list):
        return [known(v) for v in value]
    return value


def differences(truth, record):
    for name, value in truth.items():
        if name == "kind":
            continue
        want, have = known(value), field(record, name)
        if name == "methods":
            want, have = sorted(want), sorted(have or [])
        if want != have:
            yield name, want, have


def short(value):
    text = repr(value)
    return text if len(text) < 300 else text[:140] + " ... " + text[-140:]


def selected(kind, kinds):
    return any(kind == k or (k.endswith("*") and kind.startswith(k[:-1])) for k in kinds)


def main():
    truths = [json.loads(line) for line in open(sys.argv[1])]
    records = [json.loads(line) for line in open(sys.argv[2])]
    kinds = sys.argv[3].split(",")
    truths = [t for t in truths if selected(t["kind"], kinds)]
    # What the tree is like at the end is no act.
    left = [r for r in records if selected(r["kind"], kinds) and r["kind"] != "file.final"]
    missing = []
    for truth in truths:
        of_kind = [r for r in left if r["kind"] == truth["kind"]]
        right = next((r for r in of_kind if not list(differences(truth, r))), None)
        if right is None:
            missing.append((truth, of_kind))
        else:
            left.remove(right)
    for truth, of_kind in missing:
        print("missing:", short(truth))
        nearest = min(of_kind, key=lambda r: len(list(differences(truth, r))), default=None)
        for name, want, have in differences(truth, nearest) if nearest else []:
            print(f"  nearest: seq {nearest['seq']}: {name}: want {short(want)}, have {short(have)}")
    for record in left:
        print("extra:", short(record))
    print(f"{len(truths)} truths, {len(missing)} missing, {len(left)} extra")
    sys.exit(1 if missing or left or not truths else 0)


main()
