"""The routes of GitHub's API for branches, commits and pull requests, over one repository in memory."""

import base64
import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Answer = tuple[int, Any, dict[str, str]]


class GitRoutes:
    """One repository with a branch `main`."""

    def __init__(self, url: str, repo: str) -> None:
        self._url = f"{url}/repos/{repo}"
        self._name = repo
        self.trees: dict[str, dict[str, str]] = {"t0": {}}
        self.commits: dict[str, dict[str, Any]] = {"c0": {"tree": "t0", "message": "Begin", "parents": []}}
        self.branches = {"main": "c0"}
        self.pulls: list[dict[str, Any]] = []

    @property
    def main(self) -> dict[str, str]:
        """Path -> text on the default branch."""
        return self.trees["t0"]

    def files(self, branch: str) -> dict[str, str]:
        return self.trees[self.commits[self.branches[branch]]["tree"]]

    def route(self, method: str, path: str, sent: dict[str, Any]) -> Answer | None:
        """None: no route of these."""
        url = urlsplit(path)
        if url.path == f"/repos/{self._name}":
            return 200, {"url": self._url, "full_name": self._name, "default_branch": "main"}, {}
        kind, _, rest = url.path.removeprefix(f"/repos/{self._name}/").partition("/")
        match kind:
            case "pulls":
                return self._pulled(method, sent, parse_qs(url.query))
            case "contents":
                return self._contents(unquote(rest))
            case "branches":
                return 200, {"name": rest, "commit": {"sha": self.branches[rest], "url": self._url}}, {}
            case "git":
                return self._git(method, unquote(rest), sent)
        return None

    def _contents(self, path: str) -> Answer:
        if path not in self.main:
            return 404, {"message": "Not Found"}, {}
        content = base64.b64encode(self.main[path].encode()).decode()
        return 200, {"path": path, "encoding": "base64", "content": content, "type": "file", "url": self._url}, {}

    def _git(self, method: str, rest: str, sent: dict[str, Any]) -> Answer:
        if found := re.fullmatch(r"matching-refs/heads/(.+)", rest):
            names = [name for name in self.branches if name.startswith(found[1])]
            return 200, [{"ref": f"refs/heads/{name}", "url": self._url} for name in names], {}
        if found := re.fullmatch(r"commits/(\w+)", rest):
            return 200, self._commit(found[1]), {}
        if method != "POST":
            return 404, {"message": "Not Found"}, {}
        return {"trees": self._new_tree, "commits": self._new_commit, "refs": self._new_ref}[rest](sent)

    def _commit(self, sha: str) -> dict[str, Any]:
        tree = {"sha": self.commits[sha]["tree"], "url": self._url}
        return {"sha": sha, "tree": tree, "url": f"{self._url}/git/commits/{sha}"}

    def _new_tree(self, sent: dict[str, Any]) -> Answer:
        sha = f"t{len(self.trees)}"
        self.trees[sha] = self.trees[sent["base_tree"]] | {one["path"]: one["content"] for one in sent["tree"]}
        return 201, {"sha": sha, "url": self._url}, {}

    def _new_commit(self, sent: dict[str, Any]) -> Answer:
        sha = f"c{len(self.commits)}"
        self.commits[sha] = {name: sent[name] for name in ("tree", "message", "parents")}
        return 201, self._commit(sha), {}

    def _new_ref(self, sent: dict[str, Any]) -> Answer:
        name = sent["ref"].removeprefix("refs/heads/")
        if name in self.branches:
            return 422, {"message": "Reference already exists"}, {}
        self.branches[name] = sent["sha"]
        return 201, {"ref": sent["ref"], "url": self._url}, {}

    def _pulled(self, method: str, sent: dict[str, Any], query: dict[str, list[str]]) -> Answer:
        if method == "GET":
            wanted = query["head"][0].partition(":")[2]
            return 200, [one for one in self.pulls if one["head"]["ref"] == wanted], {}
        number = len(self.pulls) + 1
        made = {"number": number, "title": sent["title"], "body": sent["body"], "base": {"ref": sent["base"]},
                "head": {"ref": sent["head"]}, "html_url": f"{self._url}/pull/{number}",
                "url": f"{self._url}/pulls/{number}"}  # fmt: skip
        self.pulls.append(made)
        return 201, made, {}
