"""As in the PAI SDK: `pai.common.oss_utils`."""
