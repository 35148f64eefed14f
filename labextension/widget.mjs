// Bundles each widget for pages without the extension into one file, including React.
import { fileURLToPath } from 'node:url';

import { rspack } from '@rspack/core';

const here = new URL('.', import.meta.url);
const path = fileURLToPath(new URL('../jupyter_pai/_widget', here));

// Licenses that a bundled package keeps in a file, to which its code refers.
const LICENSES = { view: ['../node_modules/@dagrejs/dagre/dist/dagre.esm.js.LEGAL.txt'] };

/** Return the configuration of one ESM file `name` built from `entry`, including lazy imports. */
function library(name, ...entry) {
  const licenses = LICENSES[name] ?? [];
  return {
    mode: 'production',
    context: fileURLToPath(here),
    entry: { [name]: entry },
    output: {
      path,
      filename: '[name].js',
      cssFilename: '[name].css',
      module: true,
      library: { type: 'modern-module' }
    },
    module: {
      parser: { javascript: { dynamicImportMode: 'eager' } },
      rules: [
        // Allow tree shaking of JupyterLab's packages.
        { test: /node_modules\/@(jupyterlab|lumino)\//, sideEffects: false },
        { test: /\.css$/, type: 'css/global' },
        { test: /\.(svg|png|woff2?)$/, type: 'asset/inline' }
      ]
    },
    optimization: {
      splitChunks: false,
      runtimeChunk: false,
      minimizer: [
        new rspack.SwcJsMinimizerRspackPlugin({
          extractComments: true, // Licenses of bundled packages.
          minimizerOptions: { ecma: 2022, module: true, compress: { passes: 3 }, mangle: true }
        }),
        new rspack.LightningCssMinimizerRspackPlugin()
      ]
    },
    plugins: licenses.length ? [new rspack.CopyRspackPlugin({ patterns: licenses })] : [],
    performance: false
  };
}

const compiler = rspack([
  library('loader', './lib/anywidget/loader.js'),
  library(
    'view',
    './style/index.css',
    './style/views.css',
    './style/workflows.css',
    './style/page.css',
    './lib/anywidget/view.js'
  ),
  library('form', './style/form.css', './lib/anywidget/form.js')
]);
compiler.run((error, stats) => {
  if (error || stats.hasErrors()) {
    console.error(error ?? stats.toString({ colors: false }));
    process.exitCode = 1;
  } else {
    console.log(stats.toString({ preset: 'summary', colors: false, assets: true }));
  }
});
