//! Answers and exports carry no active content from documents.
