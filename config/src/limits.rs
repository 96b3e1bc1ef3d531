//! Fixed limits: numbers a user cannot change, each with its unit and reason.

/// Longest request line accepted on the socket, in bytes. A tool call is small; more is a mistake or an attack.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// Seconds after which a client that does not read its replies is cut off.
pub const SLOW_READER_SECONDS: u64 = 10;

/// Most clients connected at once; each costs a task and a buffer.
pub const MAX_CLIENTS: usize = 256;

/// Longest surface kept as a name, in bytes. Longer ones are sentences.
pub const MAX_SURFACE_BYTES: usize = 120;

/// Most mentions kept for one document; a dump of identifiers must not fill the graph.
pub const MAX_MENTIONS: usize = 20_000;

/// Longest path of a Unix socket on Linux, in bytes, without its terminating zero.
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Files above which `kgctl init` asks before it registers a folder.
pub const MANY_FILES: usize = 200_000;

/// A quarantined path is left alone after this many failures at the same content (S0 §4.3).
pub const MAX_FAILURES: u32 = 3;
