// Headlamp itself cannot be had as a package, but its components can: this is their sidebar and
// routes, with the plugin as Headlamp would load it, and without anything else of Headlamp.

import '@kinvolk/headlamp-plugin/lib/plugin/index';
import { addCollection } from '@iconify/react';
import icons from '@iconify-json/mdi/icons.json';
import { ActivitiesRenderer } from '@kinvolk/headlamp-plugin/lib/components/activity/Activity';
import defaultAppThemes from '@kinvolk/headlamp-plugin/lib/components/App/defaultAppThemes';
import RouteSwitcher from '@kinvolk/headlamp-plugin/lib/components/App/RouteSwitcher';
import CustomResourceDetails from '@kinvolk/headlamp-plugin/lib/components/crd/CustomResourceDetails';
import { GraphView } from '@kinvolk/headlamp-plugin/lib/components/resourceMap/GraphView';
import Sidebar from '@kinvolk/headlamp-plugin/lib/components/Sidebar/Sidebar';
import { queryClient } from '@kinvolk/headlamp-plugin/lib/lib/queryClient';
import { setStore } from '@kinvolk/headlamp-plugin/lib/lib/router/createRouteURL';
import { setDefaultRoutes } from '@kinvolk/headlamp-plugin/lib/lib/router/getDefaultRoutes';
import { createMuiTheme } from '@kinvolk/headlamp-plugin/lib/lib/themes';
import { setConfig } from '@kinvolk/headlamp-plugin/lib/redux/configSlice';
import store from '@kinvolk/headlamp-plugin/lib/redux/stores/store';
import { Box, CssBaseline, ThemeProvider } from '@mui/material';
import { QueryClientProvider } from '@tanstack/react-query';
import { SnackbarProvider } from 'notistack';
import { createRoot } from 'react-dom/client';
import { Provider } from 'react-redux';
import { BrowserRouter } from 'react-router-dom';

addCollection(icons);
setStore(store);

const theme = createMuiTheme(defaultAppThemes.find(t => t.base === 'light')!);

async function start() {
  const clusters = await (await fetch('/config')).json();
  store.dispatch(setConfig({ clusters }));
  setDefaultRoutes({
    customresource: {
      path: '/customresources/:crd/:namespace/:crName',
      exact: true,
      name: 'customresource',
      sidebar: 'operators',
      component: () => <CustomResourceDetails />,
    },
    map: {
      path: '/map',
      exact: true,
      name: 'Map',
      sidebar: 'map',
      component: () => <GraphView height="calc(100vh - 24px)" />,
    },
  });
  const plugin = await (await fetch('/plugin/main.js')).text();
  new Function(plugin)();
  createRoot(document.getElementById('root')!).render(
    <Provider store={store}>
      <QueryClientProvider client={queryClient}>
        <ThemeProvider theme={theme}>
          <SnackbarProvider>
            <BrowserRouter>
              <CssBaseline />
              <Box
                sx={{
                  display: 'grid',
                  position: 'relative',
                  height: '100%',
                  gridTemplateColumns: 'auto minmax(0, 1fr) auto',
                  gridTemplateRows: 'minmax(0, 1fr) auto',
                }}
              >
                <Sidebar />
                <Box component="main" id="main" sx={{ px: 3, pb: 3, overflow: 'auto' }}>
                  <RouteSwitcher requiresToken={() => false} />
                </Box>
                <ActivitiesRenderer />
              </Box>
            </BrowserRouter>
          </SnackbarProvider>
        </ThemeProvider>
      </QueryClientProvider>
    </Provider>
  );
}

start();
