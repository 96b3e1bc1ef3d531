//! Reads stay inside the project's folder, whatever is swapped meanwhile.
