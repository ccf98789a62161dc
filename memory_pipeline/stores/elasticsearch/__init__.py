"""The store for what outgrows one machine, and for teams: an Elasticsearch cluster of any kind."""

from memory_pipeline.stores.elasticsearch.store import ElasticsearchStore, open_elasticsearch

__all__ = ["ElasticsearchStore", "open_elasticsearch"]
