"""The package `pai.core` of older versions of the PAI SDK."""
