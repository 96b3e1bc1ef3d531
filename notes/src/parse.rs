//! What a note states: front matter, observations, relations, links, tags, fields, headings, block ids.
