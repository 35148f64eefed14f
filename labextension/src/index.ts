import { renderer } from './plugins.js';

export default [renderer];
