//! HTTP and the socket: who is let in, and who cannot lock others out.
