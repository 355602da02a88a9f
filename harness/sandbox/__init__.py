"""Sandboxes: images, snapshots, services, and the containers that agents run in."""

from harness.lazy_exports import lazy_exports

TYPE_CHECKING = False  # the launcher is in this package, and does without `typing`
if TYPE_CHECKING:
    from harness.sandbox.browser import ActResult as ActResult
    from harness.sandbox.browser import Browser as Browser
    from harness.sandbox.browser import BrowserSpec as BrowserSpec
    from harness.sandbox.browser import PageQuery as PageQuery
    from harness.sandbox.engine import connect as connect
    from harness.sandbox.engines.facts import EngineFacts as EngineFacts
    from harness.sandbox.engines.facts import engine_facts as engine_facts
    from harness.sandbox.environment import BASE_IMAGE as BASE_IMAGE
    from harness.sandbox.environment import Environment as Environment
    from harness.sandbox.environment import EnvironmentFile as EnvironmentFile
    from harness.sandbox.environment import load_environment as load_environment
    from harness.sandbox.host_guard import why_unguarded as why_unguarded
    from harness.sandbox.images.bootstrap import install_tools as install_tools
    from harness.sandbox.images.image_store import ImageStore as ImageStore
    from harness.sandbox.images.image_transfer import has_image as has_image
    from harness.sandbox.images.image_transfer import load_image as load_image
    from harness.sandbox.images.image_transfer import saved_image as saved_image
    from harness.sandbox.images.recipe import BROWSER_IMAGE as BROWSER_IMAGE
    from harness.sandbox.images.recipe import ContextFile as ContextFile
    from harness.sandbox.images.recipe import context_of as context_of
    from harness.sandbox.images.recipe import read_files as read_files
    from harness.sandbox.images.requirements import lock_requirements as lock_requirements
    from harness.sandbox.launch.control import LauncherLost as LauncherLost
    from harness.sandbox.leftovers import left_in_engine as left_in_engine
    from harness.sandbox.leftovers import left_in_project as left_in_project
    from harness.sandbox.leftovers import left_on_machine as left_on_machine
    from harness.sandbox.leftovers import reap as reap
    from harness.sandbox.leftovers import remove_all as remove_all
    from harness.sandbox.local import LocalSandboxProvider as LocalSandboxProvider
    from harness.sandbox.local import local_search_path as local_search_path
    from harness.sandbox.ownership import owned_environment as owned_environment
    from harness.sandbox.ownership import private_folder as private_folder
    from harness.sandbox.ownership import remove_private_folder as remove_private_folder
    from harness.sandbox.ownership import temporary_folder as temporary_folder
    from harness.sandbox.provider import Sandbox as Sandbox
    from harness.sandbox.provider import SandboxPaths as SandboxPaths
    from harness.sandbox.provider import SandboxProvider as SandboxProvider
    from harness.sandbox.provider import SandboxSpec as SandboxSpec
    from harness.sandbox.providers import ProviderName as ProviderName
    from harness.sandbox.providers import isolates as isolates
    from harness.sandbox.providers import open_provider as open_provider
    from harness.sandbox.providers import provider_of as provider_of
    from harness.sandbox.proxied_hosts import ProxiedHosts as ProxiedHosts
    from harness.sandbox.services.running_services import start_services as start_services
    from harness.sandbox.snapshots import SnapshotStore as SnapshotStore
    from harness.sandbox.sql.files import left_parts as left_parts
    from harness.sandbox.sql.files import snapshot_parts as snapshot_parts
    from harness.sandbox.sql.sqlite import SqliteReader as SqliteReader
    from harness.sandbox.sql.tables import QueryFailed as QueryFailed
    from harness.sandbox.sql.tables import Table as Table
    from harness.sandbox.sql.tables import Unmeasurable as Unmeasurable
    from harness.sandbox.sql.tables import changes as changes
    from harness.sandbox.state.cleaning import clean_end_state as clean_end_state
    from harness.sandbox.state.difference import snapshot_differences as snapshot_differences
    from harness.sandbox.state.endstate import ChangedFileTooLarge as ChangedFileTooLarge
    from harness.sandbox.state.endstate import read_changed_file as read_changed_file
    from harness.sandbox.state.snapshot import Snapshot as Snapshot
    from harness.sandbox.tasks.prepared_task import REWARD_FILES as REWARD_FILES
    from harness.sandbox.tasks.prepared_task import PreparedTask as PreparedTask
    from harness.sandbox.tasks.prepared_task import prepare_task as prepare_task
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "local": ("LocalSandboxProvider", "local_search_path"),
            "images.bootstrap": ("install_tools",),
            "browser": ("ActResult", "Browser", "BrowserSpec", "PageQuery"),
            "state.cleaning": ("clean_end_state",),
            "launch.control": ("LauncherLost",),
            "state.endstate": ("ChangedFileTooLarge", "read_changed_file"),
            "engine": ("connect",),
            "engines.facts": ("EngineFacts", "engine_facts"),
            "environment": ("BASE_IMAGE", "Environment", "EnvironmentFile", "load_environment"),
            "host_guard": ("why_unguarded",),
            "images.image_transfer": ("has_image", "load_image", "saved_image"),
            "images.image_store": ("ImageStore",),
            "leftovers": ("left_in_engine", "left_in_project", "left_on_machine", "reap", "remove_all"),
            "ownership": ("owned_environment", "private_folder", "remove_private_folder", "temporary_folder"),
            "provider": ("SandboxPaths", "Sandbox", "SandboxProvider", "SandboxSpec"),
            "providers": ("ProviderName", "isolates", "open_provider", "provider_of"),
            "proxied_hosts": ("ProxiedHosts",),
            "images.recipe": ("BROWSER_IMAGE", "ContextFile", "context_of", "read_files"),
            "images.requirements": ("lock_requirements",),
            "services.running_services": ("start_services",),
            "state.difference": ("snapshot_differences",),
            "state.snapshot": ("Snapshot",),
            "snapshots": ("SnapshotStore",),
            "sql.files": ("left_parts", "snapshot_parts"),
            "sql.sqlite": ("SqliteReader",),
            "tasks.prepared_task": ("REWARD_FILES", "PreparedTask", "prepare_task"),
            "sql.tables": ("QueryFailed", "Table", "Unmeasurable", "changes"),
        },
    )
