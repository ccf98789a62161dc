"""Searching the store: query, fusion, results."""

from memory_pipeline.retrieval.search import Found, SearchResult, search

__all__ = ["Found", "SearchResult", "search"]
