"""One reader for each product's files: each makes a Cluster, or its queues, of what people have."""
