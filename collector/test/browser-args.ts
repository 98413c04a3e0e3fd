/** The pop-ups of the address bar. Each window starts three processes for them, which take half of the CPU time of a test. */
const POPUPS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup']

/** The features that Playwright turns off. They are repeated here because Chromium uses only the last `--disable-features`. */
export const OFF_IN_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'TcpPortRandomizationWin',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'msForceBrowserSignIn',
  'msEdgeUpdateLaunchServicesPreferredVersion',
]

/** The arguments with which tests start Chromium. */
export const BROWSER_ARGS = [
  '--no-sandbox',
  `--disable-features=${[...OFF_IN_PLAYWRIGHT, ...POPUPS].join(',')}`,
]
