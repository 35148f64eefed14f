"""Jobs on OpenPAI clusters, by their REST API of version 2."""
