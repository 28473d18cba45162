"""Commands out of YAML files, for tests/shell/examples.sh.

  yaml_parts.py check FILE                 is it YAML, with every document a mapping or a list?
  yaml_parts.py template FILE              does an issue template begin with its name and what it is about?
  yaml_parts.py github FILE STEP           the commands of a step of a workflow, by its id
  yaml_parts.py gitlab FILE JOB            the script of a job
  yaml_parts.py hooks FILE                 ID ENTRY of each pre-commit hook
  yaml_parts.py kubernetes FILE KIND       KEY=VALUE of the environment, then the command, of the first init container of a pod
"""
import shlex
import sys

import yaml


def pod(document):
    spec = document["spec"]
    return spec["template"]["spec"] if "template" in spec else spec


def main():
    what, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if what == "template":
        head = yaml.safe_load(text.split("---\n")[1])
        return 0 if text.startswith("---\n") and head["name"] and head["about"] else 1
    documents = list(yaml.safe_load_all(text))
    if what == "check":
        return 0 if documents and all(isinstance(d, (dict, list)) for d in documents) else 1
    if what == "github":
        steps = [s for job in documents[0]["jobs"].values() for s in job["steps"] if s.get("id") == sys.argv[3]]
        print(steps[0]["run"])
    elif what == "gitlab":
        print("\n".join(documents[0][sys.argv[3]]["script"]))
    elif what == "hooks":
        for hook in documents[0]:
            print(hook["id"], hook["entry"])
    elif what == "kubernetes":
        container = pod([d for d in documents if d["kind"] == sys.argv[3]][0])["initContainers"][0]
        for variable in container.get("env", []):
            print("export", shlex.quote(variable["name"] + "=" + variable["value"]))
        print(shlex.join(container["command"]))
    return 0


sys.exit(main())
