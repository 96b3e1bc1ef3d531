//! Where projects may be: an agent cannot make a folder that the user did not name a project.
