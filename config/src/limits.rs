//! Fixed limits: numbers a user cannot change, each with its unit and reason.

use std::sync::LazyLock;

/// Longest request line accepted on the socket, in bytes. A tool call is small; more is a mistake or an attack.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// Seconds after which a client that does not read its replies is cut off.
pub const SLOW_READER_SECONDS: u64 = 10;

/// Most clients connected at once; each costs a task and a buffer.
pub const MAX_CLIENTS: usize = 256;

/// Seconds that a connection may take to open its session: it says nothing, half a line, or only greets. An idle
/// daemon could not end while such a one stays. An open session may be silent for as long as it likes.
pub const OPENING_SECONDS: u64 = 60;

/// Seconds without a byte after which a client that began a line and does not go on is cut off. It holds up to
/// [`MAX_FRAME_BYTES`].
pub const HALF_LINE_SECONDS: u64 = 60;

/// Connections over HTTP at once; each costs a task and a buffer.
pub const MAX_HTTP_CONNECTIONS: usize = 256;

/// Sessions and single requests over HTTP that are open in the daemon at once, beside [`MAX_CLIENTS`]: neither door can
/// fill the other's. More than [`MAX_HTTP_SESSIONS`], so that those leave room for single requests.
pub const MAX_HTTP_CLIENTS: usize = 192;

/// Sessions over HTTP at once.
pub const MAX_HTTP_SESSIONS: usize = 128;

/// Seconds after which a session over HTTP ends that nobody uses: many clients go without a word.
pub const HTTP_IDLE_SECONDS: u64 = 1_800;

/// Requests a second that one address may make over HTTP in the long run, and at once. An agent makes a handful; behind
/// a proxy all have one address.
pub const HTTP_REQUESTS_PER_SECOND: u32 = 200;
/// See [`HTTP_REQUESTS_PER_SECOND`].
pub const HTTP_BURST: u32 = 400;

/// Most requests of one client under way at once. An agent has a handful; a script gets an error to wait.
pub const MAX_IN_FLIGHT: usize = 64;

/// Lines that wait for a client to read. Small: a full queue slows the client, and each may be a large answer.
pub const MAX_QUEUED_LINES: usize = 8;

/// Lines in a row that are not messages, after which the other side is taken for something else than a client.
pub const MAX_BAD_LINES: u32 = 10;

/// Reads at once, over all clients: four times [`max_reads_of_one`], so twice the cores or some more. They compute
/// rather than wait: more than the cores only take turns, which keeps a slow one from holding up the others.
pub fn max_readers() -> usize {
    max_reads_of_one() * 4
}

/// Reads of one client at once: half the cores, at least 2. Its others wait their turn in front of its own door, so
/// that who asks sixty things is in nobody's way; and its answers count until they are queued for it, so that who does
/// not read makes no more of them.
pub fn max_reads_of_one() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    CORES.div_ceil(2).max(2)
}

/// Longest time that a daemon which was asked to stop takes to finish what is on the belt, in seconds. What is not
/// finished is indexed at the next start.
pub const DRAIN_SECONDS: u64 = 10;

/// Longest time to write the last replies after that, in seconds. `TimeoutStopSec` in `systemd/kgd@.service`, and
/// the patience of `kgctl stop`, exceed the sum of both.
pub const FAREWELL_SECONDS: u64 = 3;

/// Longest text kept of a file whose bytes are not text, in bytes: some 3,000 pages. The rest is cut with a warning.
pub const MAX_DOCUMENT_TEXT_BYTES: usize = 10_000_000;

/// Longest surface kept as a name, in bytes. Longer ones are sentences.
pub const MAX_SURFACE_BYTES: usize = 120;

/// Most mentions kept for one document; a dump of identifiers must not fill the graph.
pub const MAX_MENTIONS: usize = 20_000;

/// Days for which the bytes of a note are kept that was replaced or removed.
pub const KEPT_DAYS: u16 = 30;

/// Most bytes kept of them for one project; the oldest go first. A note is at most 2 MB, and an agent writes often.
pub const MAX_KEPT_BYTES: u64 = 1_000_000_000;

/// Longest path of a Unix socket on Linux, in bytes, without its terminating zero.
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Files above which `kgctl init` asks before it registers a folder.
pub const MANY_FILES: usize = 200_000;

/// A quarantined path is left alone after this many failures at the same content (S0 §4.3).
pub const MAX_FAILURES: u32 = 3;

/// The file of relations that is read when it lies in the folder.
pub const DEFAULT_PREDICATES: &str = "kg.predicates.toml";

/// The better embedding model where none is chosen.
pub const DEFAULT_MODEL: &str = "minilm-l6";
