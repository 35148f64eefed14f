/**
 * The user's settings in the JupyterLab settings editor, under *Training jobs*.
 */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';

/** The id of both the plugin and its settings. */
export const PAGE_SETTINGS = 'jupyter-pai:page';

/** Load the settings; null without a registry, or the server has no schema for them. */
export async function pageSettings(registry: ISettingRegistry | null): Promise<ISettingRegistry.ISettings | null> {
  try {
    return (await registry?.load(PAGE_SETTINGS)) ?? null;
  } catch {
    return null;
  }
}
