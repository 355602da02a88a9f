"""Cassettes: recordings in vcrpy's format, with an index, state-aware keys and redaction."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.cassette.cassette import Cassette as Cassette
    from harness.cassette.cassette import cassette_path as cassette_path
    from harness.cassette.cassette import load_cassette as load_cassette
    from harness.cassette.cassette import refuse_secrets as refuse_secrets
    from harness.cassette.cassette import save_cassette as save_cassette
    from harness.cassette.index import open_cassette as open_cassette
    from harness.cassette.keys import CallKey as CallKey
    from harness.cassette.keys import call_key as call_key
    from harness.cassette.keys import complete_arguments as complete_arguments
    from harness.cassette.keys import key_digest as key_digest
    from harness.cassette.keys import key_of_kept as key_of_kept
    from harness.cassette.player import Missed as Missed
    from harness.cassette.player import Played as Played
    from harness.cassette.player import Player as Player
    from harness.cassette.recorder.bindings import identity_kinds as identity_kinds
    from harness.cassette.recorder.journal import TrialJournal as TrialJournal
    from harness.cassette.recorder.journal import journals_left as journals_left
    from harness.cassette.recorder.journal import merge as merge
    from harness.cassette.recorder.journal import merge_recordings as merge_recordings
    from harness.cassette.recorder.journal import only_writer as only_writer
    from harness.cassette.recorder.journal import recover_journals as recover_journals
    from harness.cassette.recorder.live import LiveCassette as LiveCassette
    from harness.cassette.recorder.live import keep_live as keep_live
    from harness.cassette.recorder.live import live_cassettes as live_cassettes
    from harness.cassette.recorder.merging import Merge as Merge
    from harness.cassette.recorder.normalisation import Normalisation as Normalisation
    from harness.cassette.recorder.normalisation import NormalisedAnswer as NormalisedAnswer
    from harness.cassette.recorder.transient_errors import is_transient as is_transient
    from harness.cassette.recorder.transient_errors import is_transient_of_model as is_transient_of_model
    from harness.cassette.recorder.trial_recording import CallPosition as CallPosition
    from harness.cassette.recorder.trial_recording import TrialRecording as TrialRecording
    from harness.cassette.recorder.trial_recording import position_of as position_of
    from harness.cassette.recording import Kind as Kind
    from harness.cassette.recording import Mark as Mark
    from harness.cassette.recording import Outcome as Outcome
    from harness.cassette.recording import Recording as Recording
    from harness.cassette.redaction.event_queue import EventQueue as EventQueue
    from harness.cassette.redaction.redacted_events import LONGEST_WAIT_S as LONGEST_WAIT_S
    from harness.cassette.redaction.redacted_events import RedactedEvents as RedactedEvents
    from harness.cassette.redaction.redacted_events import redacted_stream as redacted_stream
    from harness.cassette.redaction.redacted_stream import RedactedStream as RedactedStream
    from harness.cassette.redaction.redaction import KEPT_HEADERS as KEPT_HEADERS
    from harness.cassette.redaction.redaction import SECRET_HEADERS as SECRET_HEADERS
    from harness.cassette.redaction.redaction import Redactor as Redactor
    from harness.cassette.state import StateChain as StateChain
    from harness.cassette.state import initial_state as initial_state
    from harness.cassette.upkeep.check import CassetteSummary as CassetteSummary
    from harness.cassette.upkeep.check import ShownRecording as ShownRecording
    from harness.cassette.upkeep.check import advice_on as advice_on
    from harness.cassette.upkeep.check import cassette_paths as cassette_paths
    from harness.cassette.upkeep.check import check_cassette as check_cassette
    from harness.cassette.upkeep.check import list_cassettes as list_cassettes
    from harness.cassette.upkeep.check import show_cassette as show_cassette
    from harness.cassette.upkeep.check import shown_cassette as shown_cassette
    from harness.cassette.upkeep.convert import convert_cassette as convert_cassette
    from harness.cassette.upkeep.excerpt import ObservedAnswer as ObservedAnswer
    from harness.cassette.upkeep.excerpt import ObservedCall as ObservedCall
    from harness.cassette.upkeep.provenance import provenance_counts as provenance_counts
    from harness.cassette.upkeep.provenance import provenance_words as provenance_words
    from harness.cassette.upkeep.provenance import state_provenance as state_provenance
    from harness.cassette.upkeep.refresh import RefreshedCassette as RefreshedCassette
    from harness.cassette.upkeep.refresh import apply_refresh as apply_refresh
    from harness.cassette.upkeep.refresh import patch_of as patch_of
    from harness.cassette.upkeep.refresh import refreshed_cassettes as refreshed_cassettes
    from harness.cassette.upkeep.refresh import with_answers as with_answers
    from harness.cassette.volatility import unfolded as unfolded
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "upkeep.check": (
                "CassetteSummary",
                "ShownRecording",
                "advice_on",
                "check_cassette",
                "list_cassettes",
                "show_cassette",
                "shown_cassette",
                "cassette_paths",
            ),
            "upkeep.convert": ("convert_cassette",),
            "upkeep.excerpt": ("ObservedAnswer", "ObservedCall"),
            "index": ("open_cassette",),
            "recorder.journal": (
                "TrialJournal",
                "journals_left",
                "merge",
                "merge_recordings",
                "only_writer",
                "recover_journals",
            ),
            "keys": ("CallKey", "call_key", "complete_arguments", "key_digest", "key_of_kept"),
            "recorder.live": ("LiveCassette", "keep_live", "live_cassettes"),
            "recorder.merging": ("Merge",),
            "recorder.bindings": ("identity_kinds",),
            "recorder.normalisation": ("Normalisation", "NormalisedAnswer"),
            "player": ("Missed", "Played", "Player"),
            "upkeep.provenance": ("provenance_counts", "provenance_words", "state_provenance"),
            "recording": ("Kind", "Mark", "Outcome", "Recording"),
            "redaction.event_queue": ("EventQueue",),
            "redaction.redacted_events": ("LONGEST_WAIT_S", "RedactedEvents", "redacted_stream"),
            "redaction.redacted_stream": ("RedactedStream",),
            "redaction.redaction": ("KEPT_HEADERS", "Redactor", "SECRET_HEADERS"),
            "upkeep.refresh": ("RefreshedCassette", "apply_refresh", "patch_of", "refreshed_cassettes", "with_answers"),
            "state": ("StateChain", "initial_state"),
            "cassette": ("Cassette", "load_cassette", "refuse_secrets", "save_cassette", "cassette_path"),
            "recorder.transient_errors": ("is_transient", "is_transient_of_model"),
            "recorder.trial_recording": ("CallPosition", "TrialRecording", "position_of"),
            "volatility": ("unfolded",),
        },
    )
