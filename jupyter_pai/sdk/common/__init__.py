"""The package `pai.common` of the PAI SDK."""
