"""Links from the documentation to other files of the repository, which the site does not hold.

Such a link becomes the name of the file; one to a file that does not exist stays, and fails the strict build.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)[^)]*\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by mkdocs with the text of each page."""

    def replace(link: re.Match) -> str:
        text, path = link.groups()
        if not (ROOT / path).exists():
            return link.group(0)
        return f"`{path}`" if text == path else f"{text} (`{path}`)"

    return LINK.sub(replace, markdown)
