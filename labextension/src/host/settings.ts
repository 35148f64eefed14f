/**
 * What the user has set for the page, in JupyterLab's settings under *Training jobs*.
 */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';

/** Both the plug-in and its settings. */
export const PAGE = 'jupyter-pai:page';

/** The settings; null where there are none, or the server does not know ours. */
export async function pageSettings(registry: ISettingRegistry | null): Promise<ISettingRegistry.ISettings | null> {
  try {
    return (await registry?.load(PAGE)) ?? null;
  } catch {
    return null;
  }
}
