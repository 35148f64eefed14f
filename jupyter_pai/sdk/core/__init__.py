"""As in older versions of the PAI SDK: `pai.core.session`."""
