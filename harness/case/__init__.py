"""Definitions of suites, cases, tools and agents, as people write them."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.case.agent import AgentPrompt as AgentPrompt
    from harness.case.agent import AgentVersion as AgentVersion
    from harness.case.agent import VariableName as VariableName
    from harness.case.agent import VariableValue as VariableValue
    from harness.case.answer import AnswerRule as AnswerRule
    from harness.case.browsing import PageInspection as PageInspection
    from harness.case.browsing import looks_of as looks_of
    from harness.case.browsing import needs_browser as needs_browser
    from harness.case.browsing import page_look as page_look
    from harness.case.case import UNTOLD_TASK as UNTOLD_TASK
    from harness.case.case import AdkSource as AdkSource
    from harness.case.case import Case as Case
    from harness.case.case import CheckSpec as CheckSpec
    from harness.case.case import Difficulty as Difficulty
    from harness.case.case import Limits as Limits
    from harness.case.case import ReferenceCall as ReferenceCall
    from harness.case.command import CommandCheck as CommandCheck
    from harness.case.command import commands_of as commands_of
    from harness.case.command import task_tests_command as task_tests_command
    from harness.case.composite import CompositePart as CompositePart
    from harness.case.conversation.conversation import Conversation as Conversation
    from harness.case.conversation.conversation import UserTurn as UserTurn
    from harness.case.conversation.conversation import When as When
    from harness.case.conversation.persona import BUILT_IN as BUILT_IN
    from harness.case.conversation.persona import Behaviour as Behaviour
    from harness.case.conversation.persona import Persona as Persona
    from harness.case.conversation.persona import persona_names as persona_names
    from harness.case.conversation.persona import persona_of as persona_of
    from harness.case.conversation.route import Route as Route
    from harness.case.conversation.scenario import talk_fields as talk_fields
    from harness.case.conversation.user import CaseUser as CaseUser
    from harness.case.conversation.user import EntailmentSpec as EntailmentSpec
    from harness.case.conversation.user import UserSpec as UserSpec
    from harness.case.digest import suite_digest as suite_digest
    from harness.case.digest import tools_digest as tools_digest
    from harness.case.document import open_document as open_document
    from harness.case.endpoints.host import EffectRule as EffectRule
    from harness.case.endpoints.host import HostSpec as HostSpec
    from harness.case.endpoints.host import IgnoredParts as IgnoredParts
    from harness.case.endpoints.model import ClientProvider as ClientProvider
    from harness.case.endpoints.model import ModelMode as ModelMode
    from harness.case.endpoints.model import ModelServer as ModelServer
    from harness.case.endpoints.model import ModelSpec as ModelSpec
    from harness.case.endpoints.model import Price as Price
    from harness.case.endpoints.model import Provider as Provider
    from harness.case.endpoints.model import ToolMode as ToolMode
    from harness.case.endpoints.model_endpoint import ModelEndpoint as ModelEndpoint
    from harness.case.endpoints.model_endpoint import RecordedModel as RecordedModel
    from harness.case.endpoints.provenance import CalledKind as CalledKind
    from harness.case.endpoints.provenance import Doubles as Doubles
    from harness.case.endpoints.provenance import Provenance as Provenance
    from harness.case.endpoints.reset import Reset as Reset
    from harness.case.endpoints.tool import IMPORTED_SERVER as IMPORTED_SERVER
    from harness.case.endpoints.tool import Effect as Effect
    from harness.case.endpoints.tool import HttpRoute as HttpRoute
    from harness.case.endpoints.tool import RateLimit as RateLimit
    from harness.case.endpoints.tool import ToolSpec as ToolSpec
    from harness.case.endpoints.tool import VolatilePart as VolatilePart
    from harness.case.endpoints.tool_words import action_of as action_of
    from harness.case.endpoints.tool_words import bare_name as bare_name
    from harness.case.endpoints.tool_words import deed_of as deed_of
    from harness.case.endpoints.tool_words import deeds_in as deeds_in
    from harness.case.endpoints.tool_words import deeds_of as deeds_of
    from harness.case.endpoints.tool_words import objects_of as objects_of
    from harness.case.endpoints.tool_words import reads_by_its_words as reads_by_its_words
    from harness.case.endpoints.tool_words import singular as singular
    from harness.case.endpoints.tool_words import words_of as words_of
    from harness.case.endpoints.volatile import changed_at as changed_at
    from harness.case.endpoints.volatile import renamed_at as renamed_at
    from harness.case.endpoints.volatile import values_at as values_at
    from harness.case.endpoints.volatile import without as without
    from harness.case.endpoints.volatile import without_volatile as without_volatile
    from harness.case.fault import FaultKind as FaultKind
    from harness.case.fault import FaultSpec as FaultSpec
    from harness.case.fixture import Fixture as Fixture
    from harness.case.fixture import FixturePack as FixturePack
    from harness.case.intervention import CallEdit as CallEdit
    from harness.case.intervention import FedCall as FedCall
    from harness.case.intervention import Intervention as Intervention
    from harness.case.intervention import Invocation as Invocation
    from harness.case.intervention import ModelChange as ModelChange
    from harness.case.intervention import TextChange as TextChange
    from harness.case.intervention import TrialVariant as TrialVariant
    from harness.case.optimising import ComponentSpec as ComponentSpec
    from harness.case.optimising import OptimiseSpec as OptimiseSpec
    from harness.case.probe import ApiProbe as ApiProbe
    from harness.case.probe import SqlProbe as SqlProbe
    from harness.case.probe import StateProbe as StateProbe
    from harness.case.prompt_files import prompt_texts as prompt_texts
    from harness.case.reading.declared_check import DeclaredCheck as DeclaredCheck
    from harness.case.reading.loading import load_stored_suite as load_stored_suite
    from harness.case.reading.loading import load_suite as load_suite
    from harness.case.reading.loading import tool_groups as tool_groups
    from harness.case.reading.selecting import case_of as case_of
    from harness.case.reading.selecting import check_cases as check_cases
    from harness.case.reading.suite_file import SuiteFile as SuiteFile
    from harness.case.reading.suite_folders import suite_names as suite_names
    from harness.case.sourcing.conformance import check_tool_source as check_tool_source
    from harness.case.sourcing.declared import McpTools as McpTools
    from harness.case.sourcing.declared import OpenApiTools as OpenApiTools
    from harness.case.sourcing.declared import PythonTools as PythonTools
    from harness.case.sourcing.declared import SourceTools as SourceTools
    from harness.case.sourcing.listing import Listing as Listing
    from harness.case.sourcing.listing import listing_digest as listing_digest
    from harness.case.sourcing.listing import listing_path as listing_path
    from harness.case.sourcing.listing import own_name as own_name
    from harness.case.sourcing.listing import read_listing as read_listing
    from harness.case.sourcing.listing import write_listing as write_listing
    from harness.case.sourcing.openapi import openapi_surface as openapi_surface
    from harness.case.sourcing.reading import remote_document_path as remote_document_path
    from harness.case.sourcing.reading import server_of as server_of
    from harness.case.sourcing.sandbox_tools import READ_FILE as READ_FILE
    from harness.case.sourcing.sandbox_tools import SHELL as SHELL
    from harness.case.sourcing.sandbox_tools import WRITE_FILE as WRITE_FILE
    from harness.case.sourcing.signature import signature as signature
    from harness.case.sourcing.tool_source import OpenToolSource as OpenToolSource
    from harness.case.sourcing.tool_source import SourceContext as SourceContext
    from harness.case.sourcing.tool_source import ToolResult as ToolResult
    from harness.case.sourcing.tool_source import ToolSource as ToolSource
    from harness.case.sourcing.tool_source import declared_tool_source as declared_tool_source
    from harness.case.sourcing.tool_source import has_own_state as has_own_state
    from harness.case.states import StateNames as StateNames
    from harness.case.states import state_names as state_names
    from harness.case.suite import McpServer as McpServer
    from harness.case.suite import Suite as Suite
    from harness.case.suite import ToolServer as ToolServer
    from harness.case.task_folder import TaskFolder as TaskFolder
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "agent": ("AgentPrompt", "AgentVersion", "VariableName", "VariableValue"),
            "answer": ("AnswerRule",),
            "browsing": ("PageInspection", "looks_of", "needs_browser", "page_look"),
            "case": ("UNTOLD_TASK", "AdkSource", "Case", "CheckSpec", "Difficulty", "Limits", "ReferenceCall"),
            "command": ("CommandCheck", "commands_of", "task_tests_command"),
            "composite": ("CompositePart",),
            "conversation.conversation": ("Conversation", "UserTurn", "When"),
            "reading.declared_check": ("DeclaredCheck",),
            "digest": ("suite_digest", "tools_digest"),
            "document": ("open_document",),
            "fault": ("FaultKind", "FaultSpec"),
            "fixture": ("Fixture", "FixturePack"),
            "endpoints.host": ("EffectRule", "HostSpec", "IgnoredParts"),
            "intervention": (
                "CallEdit",
                "FedCall",
                "Intervention",
                "Invocation",
                "ModelChange",
                "TextChange",
                "TrialVariant",
            ),
            "reading.loading": ("load_stored_suite", "load_suite", "tool_groups"),
            "reading.suite_file": ("SuiteFile",),
            "reading.suite_folders": ("suite_names",),
            "endpoints.model": (
                "ClientProvider",
                "ModelMode",
                "ModelServer",
                "ModelSpec",
                "Price",
                "Provider",
                "ToolMode",
            ),
            "optimising": ("ComponentSpec", "OptimiseSpec"),
            "endpoints.model_endpoint": ("ModelEndpoint", "RecordedModel"),
            "conversation.persona": ("BUILT_IN", "Behaviour", "Persona", "persona_names", "persona_of"),
            "probe": ("ApiProbe", "SqlProbe", "StateProbe"),
            "prompt_files": ("prompt_texts",),
            "endpoints.provenance": ("CalledKind", "Doubles", "Provenance"),
            "endpoints.reset": ("Reset",),
            "conversation.route": ("Route",),
            "conversation.scenario": ("talk_fields",),
            "reading.selecting": ("case_of", "check_cases"),
            "sourcing.conformance": ("check_tool_source",),
            "sourcing.declared": ("McpTools", "OpenApiTools", "PythonTools", "SourceTools"),
            "sourcing.listing": (
                "Listing",
                "listing_digest",
                "listing_path",
                "own_name",
                "read_listing",
                "write_listing",
            ),
            "sourcing.openapi": ("openapi_surface",),
            "sourcing.sandbox_tools": ("READ_FILE", "SHELL", "WRITE_FILE"),
            "sourcing.reading": ("remote_document_path", "server_of"),
            "sourcing.signature": ("signature",),
            "sourcing.tool_source": (
                "OpenToolSource",
                "SourceContext",
                "ToolResult",
                "ToolSource",
                "declared_tool_source",
                "has_own_state",
            ),
            "states": ("StateNames", "state_names"),
            "suite": ("McpServer", "Suite", "ToolServer"),
            "task_folder": ("TaskFolder",),
            "endpoints.tool": ("Effect", "HttpRoute", "IMPORTED_SERVER", "RateLimit", "ToolSpec", "VolatilePart"),
            "endpoints.tool_words": (
                "action_of",
                "bare_name",
                "deed_of",
                "deeds_in",
                "deeds_of",
                "objects_of",
                "reads_by_its_words",
                "singular",
                "words_of",
            ),
            "conversation.user": ("CaseUser", "EntailmentSpec", "UserSpec"),
            "endpoints.volatile": ("changed_at", "renamed_at", "values_at", "without", "without_volatile"),
        },
    )
