"""Changes of a graph that keep its values: operators taken apart, views moved, copies left out."""
