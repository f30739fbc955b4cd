// Package kube has what controllers need of the API server beyond what controller-runtime has: writes of statuses, requests
// for the objects that an event concerns, and errors in one sentence.
package kube
