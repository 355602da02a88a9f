"""Imports foreign trajectories and traces as suites and trials, and exports trials in formats of other tools."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.ingest.credentials import Cleaner as Cleaner
    from harness.ingest.credentials import holds_issued_key as holds_issued_key
    from harness.ingest.export.adk import export_adk as export_adk
    from harness.ingest.export.atif import export_atif as export_atif
    from harness.ingest.export.otlp import export_otlp as export_otlp
    from harness.ingest.foreign import ForeignCall as ForeignCall
    from harness.ingest.foreign import ForeignResult as ForeignResult
    from harness.ingest.foreign import ForeignStep as ForeignStep
    from harness.ingest.found import Found as Found
    from harness.ingest.found import FoundRun as FoundRun
    from harness.ingest.found import FoundTool as FoundTool
    from harness.ingest.found import Importer as Importer
    from harness.ingest.found import Source as Source
    from harness.ingest.inspect_facts import sample_facts as sample_facts
    from harness.ingest.names import CONVERSATION_NAMES as CONVERSATION_NAMES
    from harness.ingest.options import ImportNote as ImportNote
    from harness.ingest.options import ImportOptions as ImportOptions
    from harness.ingest.reading import Record as Record
    from harness.ingest.registry import IMPORTERS as IMPORTERS
    from harness.ingest.registry import import_file as import_file
    from harness.ingest.registry import importers as importers
    from harness.ingest.run import ImportedRun as ImportedRun
    from harness.ingest.sessions import ConversationSpans as ConversationSpans
    from harness.ingest.sessions import conversation_of as conversation_of
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "credentials": ("Cleaner", "holds_issued_key"),
            "inspect_facts": ("sample_facts",),
            "sessions": ("ConversationSpans", "conversation_of"),
            "foreign": ("ForeignCall", "ForeignResult", "ForeignStep"),
            "reading": ("Record",),
            "found": (
                "Source",
                "Importer",
                "FoundTool",
                "FoundRun",
                "Found",
            ),
            "export.adk": ("export_adk",),
            "export.atif": ("export_atif",),
            "export.otlp": ("export_otlp",),
            "names": ("CONVERSATION_NAMES",),
            "options": ("ImportOptions", "ImportNote"),
            "registry": ("IMPORTERS", "import_file", "importers"),
            "run": ("ImportedRun",),
        },
    )
