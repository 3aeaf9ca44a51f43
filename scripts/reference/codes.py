"""What programs compare: codes of errors, verdicts and answers, findings, and kinds of events of the audit log."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache

import yaml

from reference.source import SOURCE, line, modules, tree

_DATA = SOURCE / "truekeep" / "data"
_NOT_ERRORS = {"Ruling", "Judgement", "CallJudgement", "Finding"}


def _text(node: ast.AST | None) -> str:
    """A constant or formatted text as a reader sees it; what is filled in is an ellipsis."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return ""


@cache
def calls() -> tuple[tuple[str, ast.Call], ...]:
    """Every call in the package with the name of what is called."""
    found = ((node, node.func) for module in modules() for node in ast.walk(tree(module)) if isinstance(node, ast.Call))
    return tuple((getattr(called, "id", getattr(called, "attr", "")), node) for node, called in found)


def errors() -> dict[str, str]:
    """Codes of errors with what they say and what to do."""
    found: dict[str, str] = {}
    for module in modules():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                members = {ast.unparse(one): value for one, value in _assigned(node)}
                if code := _text(members.get("code")):
                    found.setdefault(code, f"{ast.get_docstring(node) or ''} {_text(members.get('default_hint'))}")
    for name, call in calls():
        given = {one.arg: one.value for one in call.keywords}
        code = _text(given.get("code"))
        if code and name[:1].isupper() and name not in _NOT_ERRORS:
            found.setdefault(code, f"{_text(call.args[0] if call.args else None)} {_text(given.get('hint'))}")
        elif name == "problem" and len(call.args) > 2 and (code := _text(call.args[1])):
            found.setdefault(code, f"{_text(call.args[2])} {_text(given.get('hint'))}")
    return {code: words if words.strip() else _VARYING.get(code, "") for code, words in found.items()}


def _assigned(node: ast.ClassDef) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    for one in node.body:
        if isinstance(one, ast.Assign):
            yield one.targets[0], one.value
        elif isinstance(one, ast.AnnAssign):
            yield one.target, one.value


def rulings() -> dict[str, str]:
    """Codes of verdicts about a text, where the code is written out."""
    made = (call.args for name, call in calls() if name == "Ruling" and len(call.args) > 2)
    return {code: _text(words) for _, node, words, *_ in made if (code := _text(node))}


def findings() -> dict[str, str]:
    """Ids of findings: those that screens write out, and the rules of the pack."""
    found: dict[str, str] = {}
    for name, call in calls():
        given = {one.arg: one.value for one in call.keywords}
        if name in ("Finding", "Judgement") and (
            code := _text(given.get("rule_id", call.args[0] if call.args else None))
        ):
            reason = given.get("reason", call.args[3] if name == "Judgement" and len(call.args) > 3 else None)
            found[code] = _text(reason)
    for module in modules():
        for node in tree(module).body:
            if module.startswith("truekeep.screens") and isinstance(node, ast.Assign | ast.AnnAssign):
                found |= _table(node)
    for path in sorted([*(_DATA / "rules").rglob("*.yaml"), *(_DATA / "protect" / "rules").rglob("*.yaml")]):
        rules = yaml.safe_load(path.read_text("utf-8"))
        for rule in rules if isinstance(rules, list) else rules.get("rules", [rules]):
            if "id" in rule:
                found[rule["id"]] = str(rule.get("message") or rule.get("description") or rule.get("title") or "")
    return {code: words or _VARYING.get(code, "") for code, words in found.items()}


_VARYING = {
    "memory_refused": "what the agent's framework wanted to keep was refused; the message says by which rule",
    "entry_refused": "what was to be written into a protected store was refused; the message says by which rule",
    "cross_origin": "a browser sent it from another site's page",
    "disguised_text": "language that only shows when decoded, deciphered, joined or respelled",
    "model_judge_failed": "the model that judges entries could not be asked",
    "scan_overrun": "the text could not be looked through within its bounds",
    "screen_failed": "a screen failed; what it would have seen nobody knows, so the text is held",
}
"""Those whose words are put together when they are found."""


def _table(node: ast.Assign | ast.AnnAssign) -> dict[str, str]:
    """A screen's table of reasons, its one rule, or the findings behind a model's words."""
    name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    if name == "RULE":
        return {_text(node.value): "asks the reader for something that matters"}
    if name == "_REASONS" and isinstance(node.value, ast.Dict):
        return {_text(key): _text(value) for key, value in zip(node.value.keys, node.value.values, strict=True)}
    if name == "_VERDICTS" and isinstance(node.value, ast.Dict):
        rows = [value.elts for value in node.value.values if isinstance(value, ast.Tuple)]
        return {_text(row[0]): _text(row[-1]) for row in rows}
    return {}


def events() -> dict[str, str]:
    """Kinds of events with the words that the console has for them."""
    words = tomllib.loads((_DATA / "console" / "en" / "audit.toml").read_text("utf-8"))["kinds"]
    return {kind.replace("_", ".", 1): said for kind, said in words.items()}


def written_events() -> set[str]:
    """Kinds that the source writes out where it closes an event; of one that is put together, as far as that goes."""
    found = set()
    for module in modules():
        constants = {
            ast.unparse(one.targets[0]): _text(one.value) for one in tree(module).body if isinstance(one, ast.Assign)
        }
        for node in ast.walk(tree(module)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "event"
                and node.args
            ):
                first = node.args[0]
                choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                found |= {constants.get(ast.unparse(one), "") or _text(one) for one in choices}
    return {kind for kind in found if "." in kind}


def page(title: str, about: str, entries: dict[str, str]) -> str:
    """One table."""
    return "\n".join([f"# {title}\n\n{about}\n", "| | |\n|---|---|", *_rows(entries), ""])


def _rows(entries: dict[str, str]) -> Iterator[str]:
    for code in sorted(entries):
        yield f"| `{code}` | {line(entries[code])} |"
