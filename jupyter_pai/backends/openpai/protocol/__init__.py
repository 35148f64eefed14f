"""Job documents of OpenPAI: reading, checking, mending, writing, and converting those of version 1."""
