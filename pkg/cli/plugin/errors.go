package plugin

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// messageOf returns the message of an error. It words errors from the API server, and from the connection to it, as kubectl does.
func messageOf(err error) string {
	var answered apierrors.APIStatus
	var request *url.Error
	switch {
	case errors.As(err, &answered):
		status := answered.Status()
		return fromServer(err, &status)
	case errors.As(err, &request) && strings.Contains(request.Err.Error(), "connection refused"):
		host := request.URL
		if server, err := url.Parse(request.URL); err == nil {
			host = server.Host
		}
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
	case errors.As(err, &request):
		return fmt.Sprintf("Unable to connect to the server: %v", request.Err)
	}
	return "error: " + err.Error()
}

// fromServer returns the message of an error that the API server returned.
func fromServer(err error, status *metav1.Status) string {
	switch {
	case status.Reason == metav1.StatusReasonUnauthorized:
		return fmt.Sprintf("error: You must be logged in to the server (%s)", status.Message)
	case status.Reason == metav1.StatusReasonInvalid && status.Details != nil && len(status.Details.Causes) > 0:
		var causes []string
		for _, cause := range status.Details.Causes {
			causes = append(causes, cause.Field+": "+cause.Message)
		}
		text := causes[0]
		if len(causes) > 1 {
			text = "\n* " + strings.Join(causes, "\n* ")
		}
		return fmt.Sprintf("The %s %q is invalid: %s", status.Details.Kind, status.Details.Name, text)
	case status.Reason != "":
		return fmt.Sprintf("Error from server (%s): %s", status.Reason, err)
	}
	return fmt.Sprintf("Error from server: %s", err)
}
