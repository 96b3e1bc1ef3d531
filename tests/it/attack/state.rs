//! State that is deleted, replaced or damaged while the daemon runs.
