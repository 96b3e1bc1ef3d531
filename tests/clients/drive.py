"""Drives `kg-mcp`, and servers of HTTP, as an agent does, by the official Python SDK of MCP.

    drive.py newest|2025-11-25|2025-06-18 NOTES KG_MCP [FLAG]...   one project; NOTES is its folder
    drive.py newest|2025-11-25|2025-06-18 NOTES URL                the same over HTTP; `/sse` at its end: the older transport
    drive.py several FIRST,SECOND KG_MCP [FLAG]...                 several, by their names

Each step prints a line when it is done; the first that fails ends it. The SDK checks what comes: structured content
against each tool's output schema, results against the revision of the protocol.
"""

import os
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

# Only a bug takes so long.
PATIENCE = 60

# Files whose indexing takes longer than telling of the first.
N_MANY = 300

CORE = ["hybrid_query", "explain_entity"]
NOTES = ["write_note", "read_note", "edit_note", "search_notes", "build_context"]


# Nothing is asked any more.
is_closing = threading.Event()


class Heard:
    """Notifications that came, until somebody waits for them."""

    def __init__(self):
        self.send, self.receive = anyio.create_memory_object_stream(1000)

    async def __call__(self, message):
        if isinstance(message, Exception):
            raise message
        await self.send.send(message)

    async def until(self, kind, fits=lambda it: True):
        with anyio.fail_after(PATIENCE):
            while True:
                message = await self.receive.receive()
                if isinstance(message, kind) and fits(message):
                    return message


def server(command):
    if command[0].startswith("http"):
        return command[0]
    # Says how the server ended; not if it had to be killed, which the SDK does two seconds after it hung up.
    told = '"$@"; echo "kg-mcp ended: $?" >&2'
    return StdioServerParameters(command="sh", args=["-c", told, "sh", *command], env=dict(os.environ))


def streams(command):
    """The ends of a connection for a session with a handshake."""
    at = server(command)
    if not isinstance(at, str):
        return stdio_client(at)
    return sse_client(at) if where_is_sse(command) else streamable_http_client(at)


def where_is_sse(command):
    return command[0].endswith("/sse")


@asynccontextmanager
async def connected(revision, command, heard):
    """A session of this revision, the calls of which look the same for all."""
    if revision == "newest":
        async with Client(server(command), read_timeout_seconds=PATIENCE, message_handler=heard) as client:
            assert client.protocol_version == "2026-07-28", client.protocol_version
            yield client, client.session
        return
    async with streams(command) as (reads, writes):
        async with ClientSession(reads, writes, read_timeout_seconds=PATIENCE, message_handler=heard) as session:
            hello = types.InitializeRequest(
                params=types.InitializeRequestParams(
                    protocol_version=revision,
                    capabilities=types.ClientCapabilities(),
                    client_info=types.Implementation(name="drive", version="0"),
                )
            )
            result = await session.send_request(hello, types.InitializeResult)
            assert result.protocol_version == revision, result
            session.adopt(result)
            await session.send_notification(types.InitializedNotification())
            yield None, session


def done(step):
    print(f"ok: {step}", flush=True)


async def call(session, tool, **arguments):
    """A call that must succeed; its structured content."""
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, f"{tool}: {result.content}"
    assert result.content[0].type == "text" and result.content[0].text.strip(), f"{tool} says nothing"
    return result.structured_content


async def refused(asked, code):
    """A request that must end with this error of the protocol."""
    try:
        answer = await asked
    except MCPError as error:
        assert error.error.code == code, error.error
        return
    raise AssertionError(f"not refused: {answer}")


async def lists(session):
    capabilities = session.server_capabilities
    assert capabilities.resources.subscribe and capabilities.prompts is not None, capabilities
    assert session.server_info.name == "kgd" and session.instructions, session.server_info
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    for name in CORE + NOTES:
        assert tools[name].output_schema and tools[name].annotations.read_only_hint is not None, name
    assert tools["read_note"].annotations.read_only_hint and not tools["write_note"].annotations.read_only_hint
    uris = [str(it.uri) for it in (await session.list_resources()).resources]
    assert "kgd://project_info" in uris and "memory://bees" in uris, uris
    templates = (await session.list_resource_templates()).resource_templates
    assert [it.uri_template for it in templates] == ["memory://{+permalink}"], templates
    prompts = {it.name: it for it in (await session.list_prompts()).prompts}
    assert [(it.name, it.required) for it in prompts["search"].arguments] == [("query", True)], prompts
    done("tools, resources, templates and prompts are listed")


async def calls(session):
    content = "- [fact] Bees dance #bees\n- studies [[Bees]]\n"
    written = await call(session, "write_note", title="My Research", content=content, directory="lab", tags=["sdk"])
    assert (written["action"], written["path"]) == ("created", "lab/my-research.md"), written
    note = await call(session, "read_note", path="memory://lab/my-research")
    assert note["checksum"] == written["checksum"] and note["relations"][0]["to_path"] == "bees.md", note
    found = await call(session, "search_notes", query="dance", page_size=5)
    assert "lab/my-research.md" in [it["path"] for it in found["results"]], found
    context = await call(session, "build_context", path="memory://lab/my-research", depth=1)
    assert [it["path"] for it in context["related"]] == ["bees.md"], context
    hits = await call(session, "hybrid_query", q="which insects dance")
    assert hits["chunks"] and hits["tick"] > 0, hits
    done("notes are written, read, searched and put into context")

    async def failed(tool, code, **arguments):
        result = await session.call_tool(tool, arguments)
        assert result.is_error and result.structured_content["code"] == code, result
        # This SDK does not check errors, but others do.
        await session.validate_tool_result(tool, result)

    stale = {"path": "lab/my-research", "operation": "append", "content": "More", "expected_checksum": "0" * 64}
    await failed("edit_note", "conflict", **stale)
    await failed("read_note", "not_found", path="no/such/note")
    await refused(session.call_tool("no_such_tool", {}), types.INVALID_PARAMS)
    done("what cannot be done is an error with a code")


async def offers(session):
    read = (await session.read_resource("memory://bees")).contents[0]
    assert read.mime_type == "text/markdown" and "They fly" in read.text, read
    info = (await session.read_resource("kgd://project_info")).contents[0]
    assert info.mime_type == "application/json" and '"notes"' in info.text, info
    # -32002 until revision 2025-11-25, then -32602.
    missing = types.INVALID_PARAMS if session.protocol_version >= "2026" else -32002
    await refused(session.read_resource("memory://no/such/note"), missing)
    prompt = await session.get_prompt("search", {"query": "bees"})
    assert "They fly" in prompt.messages[0].content.text, prompt
    await refused(session.get_prompt("search", {}), types.INVALID_PARAMS)
    template = types.ResourceTemplateReference(uri="memory://{+permalink}")
    completed = await session.complete(template, {"name": "permalink", "value": "be"})
    assert completed.completion.values == ["bees"], completed
    subjects = await session.complete(types.PromptReference(name="search"), {"name": "query", "value": "Be"})
    assert "bees" in subjects.completion.values, subjects
    done("resources are read, prompts filled, arguments completed")


async def changes_of_before(session, heard, notes):
    """Up to revision 2025-11-25: `resources/subscribe`."""
    await session.subscribe_resource("memory://bees")
    (notes / "bees.md").write_text("# Bees\n\nThey fly far.\n")
    await heard.until(types.ResourceUpdatedNotification, lambda it: str(it.params.uri) == "memory://bees")
    await session.unsubscribe_resource("memory://bees")
    (notes / "wasps.md").write_text("# Wasps\n\nThey sting.\n")
    await heard.until(types.ResourceListChangedNotification)
    done("an edit and a new note are told")


async def changes(client, notes):
    """Since revision 2026-07-28: `subscriptions/listen`."""
    async with client.listen(resources_list_changed=True, resource_subscriptions=["memory://bees"]) as events:
        (notes / "bees.md").write_text("# Bees\n\nThey fly far.\n")
        await next_event(events, ResourceUpdated)
        (notes / "wasps.md").write_text("# Wasps\n\nThey sting.\n")
        await next_event(events, ResourcesListChanged)
    done("an edit and a new note are told")


async def next_event(events, kind):
    with anyio.fail_after(PATIENCE):
        async for event in events:
            if isinstance(event, kind):
                return event
    raise AssertionError("the server ended the subscription")


async def cancelled(session, notes):
    """A call that takes long is given up as soon as it says how far it is; the session goes on."""
    for n in range(N_MANY):
        (notes / f"many-{n}.md").write_text(f"# Many {n}\n\nThe hive number {n} holds many bees.\n")
    with anyio.CancelScope() as scope:

        async def give_up(done, total, message):
            scope.cancel()

        paths = {"paths": ["many-*.md"]}
        await session.call_tool("ingest_docs", paths, progress_callback=give_up)
    assert scope.cancelled_caught, "it was done before it told of any progress"
    status = await call(session, "status")
    assert status["project"] == "notes", status
    done("a call was cancelled")


async def one(revision, notes, command):
    heard = Heard()
    async with connected(revision, command, heard) as (client, session):
        done(f"connected, revision {session.protocol_version}")
        # The daemon was started for this session.
        indexed = await call(session, "ingest_docs", paths=["**/*.md"], skip_if_seen=False)
        assert indexed["ingested"] == 1, indexed
        await lists(session)
        await calls(session)
        await offers(session)
        if client is None:
            await session.send_ping()
            await changes_of_before(session, heard, notes)
        else:
            await changes(client, notes)
        await cancelled(session, notes)
        is_closing.set()
    done("ended")


async def several(names, command):
    heard = Heard()
    async with Client(server(command), read_timeout_seconds=PATIENCE, message_handler=heard) as client:
        done(f"connected, revision {client.protocol_version}")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["hybrid_query"].input_schema["properties"]["project"]["enum"] == names, tools["hybrid_query"]
        for name in names:
            written = await call(client, "write_note", title=f"Of {name}", content="Keys rotate.", project=name)
            assert written["project"] == name, written
        found = await call(client, "search_notes", query="keys rotate")
        assert {it["project"] for it in found["results"]} == set(names), found
        listed = await call(client, "list_memory_projects")
        assert [it["name"] for it in listed["projects"]] == names, listed
        result = await client.call_tool("write_note", {"title": "Whose?", "content": "Nobody's."})
        assert result.is_error and result.structured_content["code"] == "ambiguous", result
        done("each is written to by its name, all are searched, nothing is guessed")
        uris = [str(it.uri) for it in (await client.list_resources()).resources]
        theirs = [next(uri for uri in uris if uri.endswith(f"of-{name}")) for name in names]
        for name, uri in zip(names, theirs):
            read = (await client.read_resource(uri)).contents[0]
            assert str(read.uri) == uri and f"Of {name}" in read.text, read
        prompts = [it.name for it in (await client.list_prompts()).prompts]
        first = next(it for it in prompts if it.endswith("search"))
        assert (await client.get_prompt(first, {"query": "keys"})).messages, prompts
        done("resources and prompts name their project")
        async with client.listen(resource_subscriptions=theirs) as events:
            arguments = {"path": theirs[1], "operation": "append", "content": "Every month."}
            await call(client, "edit_note", **arguments)
            event = await next_event(events, ResourceUpdated)
            assert event.uri == theirs[1], event
        done("an edit is told by its project")
    done("ended")


def main():
    what, where, *command = sys.argv[1:]
    with_limit = several if what == "several" else one
    arguments = [where.split(",")] if what == "several" else [what, Path(where)]

    async def run():
        with anyio.fail_after(3 * PATIENCE):
            await with_limit(*arguments, command)

    try:
        anyio.run(run)
    except BaseExceptionGroup as group:
        # What failed, without the task groups around it.
        error = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        # The SDK's client of the older transport trips over what it is told while it closes.
        if is_closing.is_set() and where_is_sse(command) and isinstance(error, anyio.BrokenResourceError):
            return done("ended")
        raise error from None


main()
