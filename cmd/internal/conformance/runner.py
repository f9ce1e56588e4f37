"""Runs the conformance suite: python3 runner.py PATTERN PROGRAM [ARGUMENT...]. It needs PyYAML."""
import glob, json, os, re, subprocess, sys
import yaml

WRITTEN = {"resources", "metadata", "status", "strategy", "minResources"}  # what Go types write although it is empty

def clean(value, name=""):
    if isinstance(value, list):
        return [clean(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: c for k, v in value.items() if (c := clean(v, k)) is not None and k != "jobset.sigs.k8s.io/jobset-uid"}
    return None if name in WRITTEN and not kept else kept

def objects(text):
    found = {}
    for item in map(clean, json.loads(text)["items"]):
        meta, kind = item.setdefault("metadata", {}), item["kind"]
        for field in "ownerReferences", "uid", "managedFields":
            meta.pop(field, None)
        item.pop("status", None)
        if kind == "Secret":
            item["data"] = dict.fromkeys(item.get("data", {}), "random")
        if kind == "Pod":
            labels = {k: v for k, v in meta.get("labels", {}).items() if k.startswith("jobset.sigs.k8s.io/")}
            item = {"apiVersion": item["apiVersion"], "kind": kind, "metadata": {"name": meta["name"], "namespace": meta["namespace"], "labels": labels}}
        if kind != "ConfigMap" or "flux" not in meta["name"]:
            found[kind, item["apiVersion"], meta.get("namespace"), meta["name"]] = item
    return found

if len(sys.argv) < 3:
    sys.exit("usage: python3 runner.py PATTERN PROGRAM [ARGUMENT...]")
failed = ran = 0
for file in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases", "*.txtar"))):
    parts = re.split(r"(?m)^-- (\S+) --\n", open(file, encoding="utf-8").read())[1:]
    data = dict(zip(parts[::2], parts[1::2]))
    for name, want in data.items():
        case, _, last = name.rpartition("/")
        releases, _, kind = last.rpartition(".")
        for release in releases.split(",") if kind in ("json", "refused") and re.search(sys.argv[1], case) else []:
            given = {"apiVersion": "v1", "kind": "List", "items": [d for d in yaml.safe_load_all(data[case + "/input.yaml"]) if d]}
            got = subprocess.run(sys.argv[2:] + ["--release", release], input=json.dumps(given), capture_output=True, text=True)
            try:
                good = got.returncode == 1 if kind == "refused" else got.returncode == 0 and objects(got.stdout) == objects(want)
            except (ValueError, TypeError, KeyError):
                good = False  # the output is no List of objects
            ran, failed = ran + 1, failed + (not good)
            good or print(f"{case} on {release}: status {got.returncode} {got.stderr.strip()}")
print(f"{ran - failed} of {ran} pass")
sys.exit(failed > 0 or ran == 0)
