"""Tencent Cloud: account, keys, signature, calls and error codes."""
