//! Limits: numbers a user cannot change, each with its unit and reason.

use std::sync::LazyLock;

/// Longest request line accepted on the socket, in bytes. A tool call is small; more is a mistake or an attack.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// Seconds after which a client that does not read its replies is cut off.
pub const SLOW_READER_SECONDS: u64 = 10;

/// Most clients connected at once; each costs a task and a buffer.
pub const MAX_CLIENTS: usize = 256;

/// Longest time for a connection to open its session, in seconds: one that is silent, sends half a line, or only greets
/// would keep an idle daemon alive. An open session may be silent indefinitely.
pub const OPENING_SECONDS: u64 = 60;

/// Seconds without a byte after which a client with a half-sent line is cut off. Such a line holds up to
/// [`MAX_FRAME_BYTES`].
pub const HALF_LINE_SECONDS: u64 = 60;

/// Connections over HTTP at once; each costs a task and a buffer.
pub const MAX_HTTP_CONNECTIONS: usize = 256;

/// Most open sessions and single requests over HTTP in the daemon, in addition to [`MAX_CLIENTS`], so that neither
/// transport can use up the other's share. Larger than [`MAX_HTTP_SESSIONS`], to leave room for single requests.
pub const MAX_HTTP_CLIENTS: usize = 192;

/// Sessions over HTTP at once.
pub const MAX_HTTP_SESSIONS: usize = 128;

/// Longest time for the body of a request over HTTP, in seconds: 1 MB comes in it at half a megabit per second.
pub const HTTP_BODY_SECONDS: u64 = 20;

/// Seconds after which an unused session over HTTP ends: many clients leave without ending theirs.
pub const HTTP_IDLE_SECONDS: u64 = 1_800;

/// Requests per second from one address over HTTP, on average, and in a burst. An agent makes a handful; behind a
/// proxy, all clients share one address.
pub const HTTP_REQUESTS_PER_SECOND: u32 = 200;
/// See [`HTTP_REQUESTS_PER_SECOND`].
pub const HTTP_BURST: u32 = 400;

/// Most concurrent requests of one client. An agent has a handful; a script gets an error that asks it to wait.
pub const MAX_IN_FLIGHT: usize = 64;

/// Lines queued for a client. Small: a full queue slows the client, and each line may be a large answer.
pub const MAX_QUEUED_LINES: usize = 2;

/// Invalid lines in a row after which the peer is disconnected: it is not a client of ours.
pub const MAX_BAD_LINES: u32 = 10;

/// Concurrent reads over all clients: four times [`max_reads_of_one`], so about twice the cores. Reads compute rather
/// than wait: more than the cores only take turns, which keeps a slow one from delaying the others.
pub fn max_readers() -> usize {
    max_reads_of_one() * 4
}

/// Concurrent reads of one client: half the cores, at least 2. Its other requests queue among themselves, so that a
/// client with sixty requests delays no other; a read counts until its reply is queued for sending, so that a client
/// that does not read causes no more work.
pub fn max_reads_of_one() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    CORES.div_ceil(2).max(2)
}

/// Longest time for a stopping daemon to finish its queue, in seconds. The rest is indexed at the next start.
pub const DRAIN_SECONDS: u64 = 10;

/// Longest time after that to write the last replies, in seconds. `TimeoutStopSec` in `systemd/kgd@.service`, and the
/// timeout of `kgctl stop`, exceed the sum of both.
pub const FAREWELL_SECONDS: u64 = 3;

/// Longest text kept of a file whose bytes are not text, in bytes: about 3,000 pages. The rest is cut with a warning.
pub const MAX_DOCUMENT_TEXT_BYTES: usize = 10_000_000;

/// Longest surface kept as a name, in bytes. Longer ones are sentences.
pub const MAX_SURFACE_BYTES: usize = 120;

/// Most mentions kept of one document; a dump of identifiers must not fill the graph.
pub const MAX_MENTIONS: usize = 20_000;

/// Days for which the previous bytes of a replaced or removed note are kept.
pub const KEPT_DAYS: u16 = 30;

/// Most bytes of them per project; the oldest are deleted first. A note is at most 2 MB, and an agent writes
/// often.
pub const MAX_KEPT_BYTES: u64 = 1_000_000_000;

/// Longest path of a Unix socket on Linux, in bytes, without its terminating zero.
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Number of files above which `kgctl init` asks before it registers a folder.
pub const MANY_FILES: usize = 200_000;

/// A quarantined path is skipped after this many failures with the same content (S0 §4.3).
pub const MAX_FAILURES: u32 = 3;

/// The file of relations that is read if the folder has it.
pub const DEFAULT_PREDICATES: &str = "kg.predicates.toml";

/// The better embedding model by default.
pub const DEFAULT_MODEL: &str = "minilm-l6";

/// The one for languages that the default does not support.
pub const OTHER_MODEL: &str = "e5-small";

/// The target of the spans that go to `telemetry.otlp`: requests, crawls, indexing.
pub const SPANS: &str = "kgd::spans";
