#!/usr/bin/env python3
"""Derives the rules that tests/unit/schemas.c holds our lines against from the schemas themselves:

    derive.py ocsf DIRECTORY [CLASS...] > ocsf.json    DIRECTORY: a checkout of ocsf-schema at the release
    derive.py ecs FILE > ecs.json                       FILE: generated/ecs/ecs_flat.yml of the release

Only what a machine can check is kept: names, types, requirements, enumerations, constraints."""
import json, os, re, sys


def load(*path):
    with open(os.path.join(*path)) as file:
        return json.load(file)


class Ocsf:
    def __init__(self, root):
        self.root = root
        self.dictionary = load(root, "dictionary.json")
        self.events = self.read("events")
        self.objects = self.read("objects")
        self.extend("extensions/linux")

    def read(self, folder):
        found = {}
        for where, _, files in os.walk(os.path.join(self.root, folder)):
            for name in files:
                if name.endswith(".json"):
                    item = load(where, name)
                    found[item.get("name", name[:-5])] = item
        return found

    def extend(self, folder):
        """What an extension adds to an object of the same name."""
        if os.path.exists(os.path.join(self.root, folder, "dictionary.json")):
            self.dictionary["attributes"].update(load(self.root, folder, "dictionary.json")["attributes"])
        for name in os.listdir(os.path.join(self.root, folder, "objects")):
            item = load(self.root, folder, "objects", name)
            target = self.objects.get(item.get("extends"))
            if target is None:
                continue
            own = item["attributes"]
            includes = target["attributes"].setdefault("$include", [])
            includes += [f"{folder}/{i}" for i in own.pop("$include", [])]
            target["attributes"].update(own)

    def included(self, path):
        for base in (path, os.path.join("extensions/linux", path)):
            if os.path.exists(os.path.join(self.root, base)):
                profile = load(self.root, base)
                return {n: {**a, "profile": profile["name"]} for n, a in profile["attributes"].items()
                        if n != "$include"}
        raise FileNotFoundError(path)

    def attributes(self, table, item):
        """Of an item and of all that it extends."""
        all_of_them, least = {}, {}
        if item.get("extends") and item["extends"] in table and table[item["extends"]] is not item:
            all_of_them, least = self.attributes(table, table[item["extends"]])
        includes = item["attributes"].get("$include", [])
        for path in [includes] if isinstance(includes, str) else includes:
            for name, own in self.included(path).items():
                all_of_them[name] = {**own, **all_of_them.get(name, {})}
        for name, own in item["attributes"].items():
            if name == "$include":
                continue
            before = all_of_them.get(name, {})
            merged = {**before, **own}
            if "enum" in own:
                merged["enum"] = {**before.get("enum", {}), **own["enum"]}
            all_of_them[name] = merged
        return all_of_them, {**least, **item.get("constraints", {})}

    def shape(self, table, item):
        attributes, constraints = self.attributes(table, item)
        rules = {}
        for name, own in sorted(attributes.items()):
            known = self.dictionary["attributes"].get(name, {})
            both = {**known, **own}
            if "type" not in both or "@deprecated" in own:
                continue
            rule = {"type": both["type"]}
            if both.get("is_array"):
                rule["array"] = True
            if both.get("requirement") == "required":
                rule["required"] = True
            if both.get("profile"):
                rule["profile"] = both["profile"].split("/")[-1]
            enum = own.get("enum") or known.get("enum")
            if enum and both["type"] in ("integer_t", "long_t") and not name.endswith("_uid"):
                if "enum" in own and known.get("enum") and "0" not in own["enum"]:
                    enum = {**known["enum"], **own["enum"]}
                rule["enum"] = sorted(int(k) for k in enum)
            if both.get("sibling"):
                rule["sibling"] = both["sibling"]
            rules[name] = rule
        return {"attributes": rules, **{k: v for k, v in constraints.items() if k in ("at_least_one", "just_one")}}

    def uid(self, item):
        categories = load(self.root, "categories.json")["attributes"]
        here = item
        while "category" not in here:
            here = self.events[here["extends"]]
        return categories.get(here["category"], {"uid": 0})["uid"] * 1000 + item.get("uid", 0)

    def derive(self, wanted):
        classes, objects, todo = {}, {}, []
        for item in self.events.values():
            if "uid" not in item and item["name"] != "base_event":
                continue
            uid = str(self.uid(item))
            if uid in wanted:
                classes[uid] = {"name": item["name"], **self.shape(self.events, item)}
                todo += [a["type"] for a in classes[uid]["attributes"].values()]
        while todo:
            name = todo.pop()
            if name in objects or name not in self.objects or name == "object":
                continue
            objects[name] = self.shape(self.objects, self.objects[name])
            todo += [a["type"] for a in objects[name]["attributes"].values()]
        types = {n: t.get("type", n) for n, t in self.dictionary["types"]["attributes"].items()}
        return {"version": load(self.root, "version.json")["version"], "classes": classes, "objects": objects,
                "types": types}


def ecs(path):
    """The file is YAML of a plain kind: what we need of it are lines of two and four blanks."""
    fields, name, key, pending, categories = {}, None, None, [], {}
    for line in open(path):
        top = re.match(r"^'?([\w.@]+)'?:$", line)
        if top:
            name, key = top[1], None
            fields[name] = {}
            continue
        kind = re.match(r"^  type: (\w+)$", line)
        if kind:
            fields[name]["type"] = kind[1]
        if re.match(r"^  \w", line):
            key = line.split(":")[0].strip()
        if key == "normalize" and line.strip() == "- array":
            fields[name]["array"] = True
        if key != "allowed_values":
            continue
        expected = re.match(r"^    - ([\w-]+)$", line)
        if expected:
            pending.append(expected[1])
        allowed = re.match(r"^    name: ([\w-]+)$", line)
        if allowed:
            fields[name].setdefault("allowed", []).append(allowed[1])
            if name == "event.category":
                categories[allowed[1]] = pending
            pending = []
    return {"fields": {n: f for n, f in fields.items() if f.get("type")}, "types_of_category": categories}


if __name__ == "__main__":
    what = ecs(sys.argv[2]) if sys.argv[1] == "ecs" else Ocsf(sys.argv[2]).derive(set(sys.argv[3:]))
    json.dump(what, sys.stdout, sort_keys=True, separators=(",", ":"))
    print()
