#!/usr/bin/env python3
"""Dashboards and alerts against a Prometheus that scrapes a real daemon and a real exporter.

dashboards.py URL LIST GRAFANA_DIR ALERTS

LIST is the output of vitrine-metrics --list. Every metric that a panel, a variable or an alert names has to exist in
what was scraped, with every label that is matched, grouped by or shown, and every expression has to be one that
Prometheus evaluates. The JSON of dashboards keeps the rules of Grafana's classic schema.
"""
import json
import pathlib
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

import yaml

url, list_file, grafana, alerts = sys.argv[1:5]
faults = []


def fault(where, text):
    faults.append(f"{where}: {text}")


def ask(path, **query):
    try:
        with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(query)}") as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        return json.load(e)


class Scraped:
    """Series by name, with what their labels are."""

    def __init__(self):
        self.labels = {}
        for one in ask("series", **{"match[]": '{__name__=~"vitrine_.*|up"}'})["data"]:
            of_name = self.labels.setdefault(one["__name__"], {})
            for key, value in one.items():
                of_name.setdefault(key, set()).add(value)


scraped = Scraped()
SELECTOR = re.compile(r"\b(vitrine_[a-z_]+|up)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|on|without)\s*\(([^)]*)\)")
used = set()


def check_selector(where, name, matchers):
    used.add(name)
    labels = scraped.labels.get(name)
    if not labels:
        fault(where, f"{name} was not scraped")
        return set()
    for label, operator, value in MATCHER.findall(matchers or ""):
        if label not in labels:
            fault(where, f"{name} has no label {label}")
        elif operator == "=" and value not in labels[label] and "$" not in value:
            fault(where, f'{name} has no {label}="{value}"')
    return set(labels)


def check_expression(where, expression, shown=()):
    labels = set()
    for name, matchers in SELECTOR.findall(expression):
        labels |= check_selector(where, name, matchers)
    named = [n.strip() for group in GROUPING.findall(expression) for n in group.split(",")]
    for label in [*named, *shown]:
        if label not in labels:
            fault(where, f"no metric of it has the label {label}")
    for variable, value in {"$__rate_interval": "1m", "$__range": "1h", "$__interval": "15s"}.items():
        expression = expression.replace(variable, value)
    expression = re.sub(r"\$[a-z]+", ".*", expression)
    answer = ask("query", query=expression)
    if answer["status"] != "success":
        fault(where, f"{expression}: {answer.get('error')}")


# ---- dashboards ----

KINDS = {"row", "stat", "timeseries", "bargauge", "state-timeline"}
UNITS = {"short", "s", "bytes", "Bps", "percentunit", "dateTimeFromNow"}


def check_grid(where, panels):
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24 or min(place.values()) < 0 or place["w"] < 1 or place["h"] < 1:
            fault(where, f"panel {panel['id']} stands outside of the grid")
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if (x, y) in taken:
                    fault(where, f"panels {panel['id']} and {taken[x, y]} overlap")
                    return
                taken[x, y] = panel["id"]


def check_panel(where, panel, variables):
    where = f"{where}, panel {panel['id']} ({panel['title']})"
    if panel["type"] not in KINDS or not panel["title"]:
        fault(where, f"kind {panel['type']} or no title")
    if panel["type"] == "row":
        return
    if panel["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
        fault(where, "it does not use the variable of the data source")
    if panel["fieldConfig"]["defaults"]["unit"] not in UNITS or not panel["targets"]:
        fault(where, "no targets or an unknown unit")
    references = [t["refId"] for t in panel["targets"]]
    if len(set(references)) != len(references):
        fault(where, "two targets have one refId")
    for target in panel["targets"]:
        if target["datasource"] != panel["datasource"]:
            fault(where, "a target has a data source of its own")
        for variable in re.findall(r"\$([a-z]+)", target["expr"]):
            if variable not in variables:
                fault(where, f"no variable {variable}")
        shown = re.findall(r"\{\{\s*([a-z_]+)\s*\}\}", target["legendFormat"])
        check_expression(where, target["expr"], shown)


def check_dashboard(path):
    board = json.loads(path.read_text())
    where = path.name
    for key in ("uid", "title", "panels", "templating", "time", "schemaVersion", "annotations"):
        if key not in board:
            fault(where, f"no {key}")
    if board.get("id") is not None or "__inputs" in board:
        fault(where, "it was exported for one Grafana")
    variables = {v["name"]: v for v in board["templating"]["list"]}
    if variables.get("datasource", {}).get("type") != "datasource":
        fault(where, "no variable of the data source")
    for name, variable in variables.items():
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), ([a-z_]+)\)", variable["query"]["query"]).groups()
            check_expression(f"{where}, variable {name}", metric, [label])
    ids = [p["id"] for p in board["panels"]]
    if len(set(ids)) != len(ids):
        fault(where, "two panels have one id")
    check_grid(where, board["panels"])
    for panel in board["panels"]:
        check_panel(where, panel, variables)
    return board["uid"]


boards = sorted(pathlib.Path(grafana).glob("*.json"))
uids = [check_dashboard(path) for path in boards]
if len(boards) < 3 or len(set(uids)) != len(uids):
    fault(grafana, "fewer than three dashboards, or two with one uid")

# ---- alerts ----

rules = [rule for group in yaml.safe_load(open(alerts))["groups"] for rule in group["rules"]]
for rule in rules:
    text = " ".join(rule["annotations"].values())
    check_expression(rule["alert"], rule["expr"], re.findall(r"\$labels\.([a-z_]+)", text))
loaded = {r["name"] for g in ask("rules")["data"]["groups"] for r in g["rules"] if r["health"] != "err"}
for rule in rules:
    if rule["alert"] not in loaded:
        fault(rule["alert"], "Prometheus has not evaluated it")

# ---- the table ----

for line in open(list_file):
    name, kind, _, labels, _ = line.rstrip("\n").split("\t")
    series = scraped.labels.get(f"{name}_count" if kind == "histogram" else name)
    if not series:
        fault(name, "is in the table and was not scraped")
    elif {label for label in labels.split(",") if label} - set(series):
        fault(name, f"has not the labels {labels}")
    if name not in used and f"{name}_bucket" not in used:
        fault(name, "is on no dashboard")

print(f"{len(boards)} dashboards, {len(rules)} alerts, {len(used)} metrics")
print("\n".join(faults))
sys.exit(1 if faults else 0)
