"""What the Elasticsearch store costs beside a bare client on the same server."""
