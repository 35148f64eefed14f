/**
 * The plugins of the extension. Views are imported when they are first shown, so that little is loaded at startup.
 */

import { jobsPlugin } from './plugins/jobs.js';
import { launchersPlugin } from './plugins/launchers.js';
import { notificationsPlugin } from './plugins/notifications.js';
import { pagePlugin, settingsPlugin } from './plugins/page.js';
import { platformsPlugin } from './plugins/platforms.js';
import { rendererPlugin } from './plugins/renderer.js';
import { explorerPlugin } from './plugins/storage.js';
import { trainPlugin } from './plugins/train.js';

export default [
  pagePlugin,
  rendererPlugin,
  trainPlugin,
  jobsPlugin,
  explorerPlugin,
  platformsPlugin,
  launchersPlugin,
  settingsPlugin,
  notificationsPlugin
];
