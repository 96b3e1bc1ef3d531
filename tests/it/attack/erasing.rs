//! What is forgotten is gone from every byte that kgd keeps.
