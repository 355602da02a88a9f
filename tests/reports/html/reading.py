"""A page taken apart as a browser does it."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class Page(HTMLParser):
    """Elements by name, and the texts of styles and scripts; data elements parsed, by their id."""

    text: str
    names: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self._within: str | None = None
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        own = dict(attrs)
        if tag == "script":
            self._within = own.get("id") if own.get("type") == "application/json" else ""
        elif tag == "style":
            self._within = "style"

    def handle_endtag(self, tag: str) -> None:
        self._within = None

    def handle_data(self, data: str) -> None:
        match self._within:
            case None:
                return
            case "style":
                self.styles.append(data)
            case "":
                self.programs.append(data)
            case name:
                self.data[name] = json.loads(data)

    def value_of(self, tag: str, name: str) -> list[str]:
        return [value for own, found, value in self.attributes if (own, found) == (tag, name)]
