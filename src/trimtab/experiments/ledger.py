"""The ledger of claims: what five papers say, what became of it, and how to see for oneself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from trimtab.experiments import EXPERIMENTS, PAPERS
from trimtab.experiments.base import FAILS, HOLDS, IN_PART, VERDICTS, Finding, Setting

_HEAD = """\
# Claims of five papers

*Written by `trimtab claims`; do not edit.*

Each row is a take-away of a paper, its figure, ours, and a verdict on our implementation:
{words}. None is left out because it fails.

Ours are means of {seeds} seeds at scale {scale:g}. Times are those of a model of a cluster
(`trimtab.simulate`), where ratios mean something and seconds do not; the notes below a table say
which are CPU times of kernels. Streams are drawn by the laws that the papers state for their data;
sizes are scaled to one machine.

    trimtab experiment NAME              # one figure: a CSV file, a picture, its claims
    trimtab experiment NAME --scale 4    # larger
    trimtab claims                       # this page

"""


def ledger(findings: Mapping[str, Finding], setting: Setting) -> str:
    """Write the ledger of these findings, paper by paper, as Markdown."""
    claims = [claim for finding in findings.values() for claim in finding.claims]
    counts = Counter(claim.verdict for claim in claims)
    words = ", ".join(f"**{verdict}** ({counts[verdict]})" for verdict in VERDICTS)
    lines = [_HEAD.format(words=words, seeds=setting.seeds, scale=setting.scale)]
    for paper, (title, _, _) in PAPERS.items():
        own = [n for n in EXPERIMENTS if n.rsplit("-table", 1)[0].split("-")[0] == paper]
        lines.append(f"## {title}\n")
        lines.append("| experiment | the paper says | its figure | ours | verdict |")
        lines.append("|---|---|---|---|---|")
        for name in own:
            if name in findings:
                lines += _rows(name, findings[name])
        lines.append("")
        notes = [
            f"- `{name}`: {findings[name].note}."
            for name in own
            if name in findings and findings[name].note
        ]
        if notes:
            lines += ["How the experiments differ from the paper's:", "", *notes, ""]
    return "\n".join(lines)


def _rows(name: str, finding: Finding) -> list[str]:
    rows = []
    for claim in finding.claims:
        verdict = f"**{claim.verdict}**"
        if claim.reason:
            verdict += f": {claim.reason}"
        cells = (f"`{name}`", claim.says, claim.paper, claim.ours, verdict)
        rows.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    return rows


def verdicts(page: str) -> dict[tuple[str, str], str]:
    """Read a ledger back: the verdict on each experiment's claim.

    >>> row = "| `cg-4` | Lanes are level | 1.0 | 1.1 | **holds in part**: nearly |"
    >>> verdicts(row)
    {('cg-4', 'Lanes are level'): 'holds in part'}
    """
    found = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and cells[0].startswith("`"):
            words = cells[4].split("**")[1]
            found[cells[0].strip("`"), cells[1]] = words
    return found


__all__ = ["FAILS", "HOLDS", "IN_PART", "ledger", "verdicts"]
