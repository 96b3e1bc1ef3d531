//! What a reply promises survives a crash and a full disk.
