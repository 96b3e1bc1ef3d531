//! Documents made here, read back.
